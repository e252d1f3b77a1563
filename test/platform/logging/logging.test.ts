import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { Logger } from '@nestjs/common';
import { ClsServiceManager } from 'nestjs-cls';
import { PRODUCT } from '../../../src/product.js';
import {
  currentRequestIds,
  RequestContextMiddleware,
} from '../../../src/platform/http/request/request-context.middleware.js';
import { loggedAddress } from '../../../src/platform/http/request/address.js';
import { describeCause, errorDetails } from '../../../src/platform/errors/error-details.js';
import { createLogger } from '../../../src/platform/logging/logger.js';
import { NestLogger } from '../../../src/platform/logging/nest-logger.js';
import { resultOf } from '../../harness/processes/command.js';

const { keyPrefix } = PRODUCT;
const KEY = `${keyPrefix}${'k'.repeat(36)}`;
const REFUSED = 'connect ECONNREFUSED 10.0.0.1:5432';
const refused = Object.assign(new Error(REFUSED), { code: 'ECONNREFUSED' });
const error = Object.assign(new TypeError('broken', { cause: refused }), { parameters: ['Frank'] });
const err = {
  type: 'TypeError',
  message: 'broken',
  stack: expect.stringContaining('logging.test') as unknown,
  cause: expect.objectContaining({ message: REFUSED }) as unknown,
};

test.each([
  ['203.0.113.77', '203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.77', '203.0.113.0/24'],
  ['2001:DB8::6', '2001:DB8::6', '2001:db8::/48'],
  ['::1', '::1', '::/48'],
  ['2001::a:b:c:d:e:f', '2001::a:b:c:d:e:f', '2001:0:a::/48'],
])('the address %s is logged as %s, or as its network %s', (address, full, network) => {
  expect(loggedAddress(address, 'full')).toBe(full);
  expect(loggedAddress(address, 'network')).toBe(network);
});

test.each<[cause: unknown, text: string]>([
  ['deadline', 'deadline'],
  [refused, REFUSED],
  [Object.assign(new Error('no'), { code: '53300' }), '53300: no'],
  [Object.assign(new Error(''), { code: 'EPIPE' }), 'EPIPE'],
  [new TypeError(''), 'TypeError'],
  [new Error('first\nsecond'), 'first'],
  // Node rejects so when every address of a host fails.
  [Object.assign(new AggregateError([refused, refused], ''), { code: 'ECONNREFUSED' }), REFUSED],
  [new Error('', { cause: refused }), REFUSED],
  [null, 'a thrown object'],
  [{ password: 'x' }, 'a thrown object'],
])('the cause %p is one line that says something', (cause, text) => {
  expect(describeCause(cause)).toBe(text);
});

test('the details of an error do not have the values of its statement', () => {
  expect(errorDetails(error)).toMatchObject({ ...err, cause: { code: 'ECONNREFUSED' } });
  const ofServer = [
    ['22P02', 'invalid input syntax for type bigint: "Frank: "x"\nFrank"', 'for type bigint'],
    ['22003', 'value "Frank" is out of range for type integer', 'value is out of range'],
    ['22P02', 'ungültige Eingabesyntax für Typ bigint: »Frank«', 'für Typ bigint'],
  ].map(([code, message, kept]) => {
    const details = errorDetails(Object.assign(new Error(message), { code }));
    expect(details['message']).toContain(kept);
    return details;
  });
  for (const each of [errorDetails(error), ...ofServer]) {
    expect(JSON.stringify(each)).not.toContain('Frank');
  }
});

test.each([
  ['open', false, { requestId: 'a', traceId: undefined }],
  ['closed', true, undefined],
])('a line of work that a request started, while its response is %s', (_title, destroyed, ids) => {
  const request = { headers: { 'x-request-id': 'a' }, socket: {}, res: { destroyed } };
  const context = new RequestContextMiddleware(ClsServiceManager.getClsService());
  let found: unknown;
  context.use(request as never, { setHeader: () => 0 } as never, () => {
    found = currentRequestIds();
  });
  expect(found).toEqual(ids);
});

test('a circular cause is logged four times', () => {
  const loop = new Error('loop');
  loop.cause = loop;
  expect(JSON.stringify(errorDetails(loop)).match(/"message":"loop"/g)).toHaveLength(4);
});

describe('the Logger of NestJS', () => {
  let lines: Record<string, unknown>[];
  const write = (line: string) => lines.push(JSON.parse(line) as Record<string, unknown>);
  const context = () => ({ requestId: 'request-1' });
  const logger = new Logger('Toys');
  beforeAll(() =>
    Logger.overrideLogger(
      new NestLogger(createLogger({ level: 'trace', keyPrefix }, { write }), context),
    ),
  );
  beforeEach(() => (lines = []));

  it.each<[title: string, log: () => void, members: Record<string, unknown>]>([
    ['an error', () => logger.error(error), { msg: 'broken', err }],
    ['a text and an error', () => logger.error('text', error), { msg: 'text', err }],
    ['an error in an object', () => logger.error('text', { error }), { msg: 'text', error: err }],
    ['an object with msg', () => logger.warn({ msg: 'a', err: error }), { msg: 'a', err }],
    ['an object', () => logger.log('text', { petId: 5 }), { msg: 'text', petId: 5 }],
    ['further values', () => logger.log('a', 'b', 3n), { msg: 'a b 3' }],
    [
      'members of every line',
      () => logger.log('a', { context: 'b', requestId: 'c' }),
      { msg: 'a' },
    ],
  ])('logs %s as one line', (_title, log, members) => {
    log();
    const { level: _level, time: _time, ...rest } = lines[0]!;
    expect([lines.length, rest]).toEqual([1, { context: 'Toys', ...context(), ...members }]);
  });

  it('logs no API key and no values of a statement', () => {
    const nested = [{ error: new Error(KEY, { cause: error }) }];
    logger.error(`text ${KEY}`, { key: KEY, nested });
    expect(JSON.stringify(lines)).not.toMatch(/kkk|Frank/);
  });
});

test('what is logged before an exit is written, even if a pipe cannot hold it', async () => {
  const script = `
    import { createLog } from './reports/product/src/platform/logging/logger.js';
    const { logger } = await createLog({ level: 'info', bufferBytes: 1_000_000, keyPrefix: 'key_' });
    for (let line = 0; line < 400; line++) logger.info('x'.repeat(200));
    process.exit();`;
  // A pipe of the shell, because Node.js would connect a socket, which holds more than 64 KiB. The lines take 100 KB, so
  // that a reader on a busy machine needs one turn within the second that the exit waits.
  const command = '"$0" --input-type=module --eval "$1" | cat';
  const shell = spawn('sh', ['-c', command, process.execPath, script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: join(__dirname, '../../..'),
  });
  expect((await resultOf(shell)).stdout.match(/\n/g)).toHaveLength(400);
});
