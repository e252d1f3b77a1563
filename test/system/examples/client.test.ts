import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createPets } from '../../harness/database/factories.js';
import { useStore } from '../../harness/http/store.js';

const CLIENT = join(__dirname, '../../../examples/client');
const EVALUATE = ['--input-type=module', '-e'];
const run = promisify(execFile);

const store = useStore({ app: true });

/** Runs a program that has a client. Returns what it returns; a bigint as text. */
async function withClient(program: string): Promise<unknown> {
  const { service, owner } = store;
  const code = `
    import { createClient, listPages } from ${JSON.stringify(`file://${CLIENT}/client.mjs`)};
    const client = createClient(process.argv[1], process.argv[2]);
    const result = await (async () => { ${program} })();
    const asText = (_name, value) => (typeof value === 'bigint' ? String(value) : value);
    console.log(JSON.stringify(result, asText));`;
  const { stdout } = await run(process.execPath, [...EVALUATE, code, service.url, owner.key]);
  return JSON.parse(stdout);
}

describe('the client', () => {
  beforeAll(() => createPets(store.database, 250, (index) => (index % 2 ? 'pending' : 'sold')));

  test('walks all pages, with a filter', async () => {
    const program = (filter: string): string => `
      const pages = [];
      for await (const page of listPages(client, ${filter})) pages.push(page.length);
      return pages;`;
    expect(await withClient(program('{}'))).toEqual([100, 100, 50]);
    expect(await withClient(program("{ status: 'sold' }"))).toEqual([100, 25]);
  });

  test('keeps every digit of an int64, and reads an error', async () => {
    const result = await withClient(
      `const body = { name: 'Ann', categoryId: 9223372036854775807n };
       const { data } = await client.POST('/pets', { body });
       const { error } = await client.POST('/pets', { body: { ...body, name: '' } });
       return { data, code: error.code };`,
    );
    expect(result).toMatchObject({
      data: { id: expect.stringMatching(/^\d+$/), categoryId: '9223372036854775807' },
      code: 'invalid_request',
    });
  });
});
