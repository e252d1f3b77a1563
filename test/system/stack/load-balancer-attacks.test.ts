import { useDatabase } from '../../harness/database/database.js';
import { createOwner } from '../../harness/database/factories.js';
import { RawConnection, requestHead } from '../../harness/http/raw-connection.js';
import { findHaproxy, type Haproxy, startHaproxy } from '../../harness/processes/haproxy.js';
import { type NameServer, startNameServer } from '../../harness/processes/name-server.js';
import {
  type BuiltService,
  type Environment,
  startBuiltService,
} from '../../harness/service/service.js';

// Only Linux routes all of 127.0.0.0/8 by default.
const command = process.platform === 'linux' ? findHaproxy() : undefined;

const SERVED_WITHIN_MS = 1_000;
(command ? describe : describe.skip)('attacks on deploy/haproxy.cfg', () => {
  const database = useDatabase();
  let names: NameServer;
  let replica: BuiltService;
  let haproxy: Haproxy;
  let key: string;

  beforeAll(async () => {
    names = await startNameServer(['127.0.0.1']);
    replica = await startBuiltService({ DATABASE_URL: database.url, TRUST_PROXY: '1' });
    ({ key } = await createOwner(database));
  }, 60_000);

  afterEach(() => haproxy.stop());

  afterAll(() => names.close());

  async function startLoadBalancer(limits: Environment = {}): Promise<void> {
    haproxy = await startHaproxy(command ?? '', {
      REPLICAS: `replica.test:${new URL(replica.url).port}`,
      DNS_SERVER: names.address,
      ...limits,
    });
  }

  /** Opens a connection and returns it with the status of the first response. */
  async function connectFrom(
    localAddress: string,
    path = '/health/live',
  ): Promise<{ connection: RawConnection; status: number; closes: boolean }> {
    const head = requestHead(`GET ${path}`);
    const connection = await RawConnection.open({ port: haproxy.port, localAddress }, head);
    const { status, headers } = await connection.response();
    return { connection, status, closes: headers['connection'] === 'close' };
  }

  /** Expects that a client with an address of its own is served at once. */
  async function expectService(): Promise<void> {
    const startedMs = performance.now();
    const head = requestHead('GET /v1/pets', key);
    const { port } = haproxy;
    const connection = await RawConnection.open({ port, localAddress: '127.9.9.9' }, head);
    expect((await connection.response()).status).toBe(200);
    connection.close();
    expect(performance.now() - startedMs).toBeLessThan(SERVED_WITHIN_MS);
  }

  test.each([
    ['one network', (number: number) => `127.1.1.${number + 1}`],
    ['12 networks', (number: number) => `127.1.${number + 1}.1`],
  ])(
    'while 12 addresses of %s hold 199 idle connections each, a new client is served within a second',
    async (_, address) => {
      await startLoadBalancer();
      const opened = await Promise.allSettled(
        Array.from({ length: 12 * 199 }, (__, number) => connectFrom(address(number % 12))),
      );
      const held = opened.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
      try {
        expect(held.length).toBeGreaterThanOrEqual(400);
        await expectService();
      } finally {
        for (const { connection } of held) connection.close();
      }
    },
    30_000,
  );

  test.each([
    ['each address', { CONNECTIONS_PER_ADDRESS: '2' }, ['1.1', '1.1'], '1.1', '1.2'],
    ['each network', { CONNECTIONS_PER_NETWORK: '2' }, ['1.1', '1.2'], '1.3', '2.1'],
    [
      'an address while many connections are open, a tenth of it',
      { BUSY_CONNECTIONS: '3', CONNECTIONS_PER_ADDRESS: '20' },
      ['1.1', '1.1', '1.1'],
      '1.1',
      '2.1',
    ],
    ['new connections', { NEW_CONNECTIONS_PER_ADDRESS: '2' }, ['1.1', '1.1'], '1.1', '1.2'],
  ] as const)('a limit applies to %s', async (_, limits, addresses, rejected, admitted) => {
    await startLoadBalancer(limits);
    const open = [];
    for (const address of [...addresses, admitted]) {
      if (address === admitted) await expect(connectFrom(`127.1.${rejected}`)).rejects.toThrow();
      open.push(await connectFrom(`127.1.${address}`));
    }
    for (const { connection } of open) connection.close();
  });
});
