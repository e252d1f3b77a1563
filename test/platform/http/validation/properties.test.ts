import { ApiClient } from '../../../harness/http/client.js';
import { createOwner } from '../../../harness/database/factories.js';
import { expectError } from '../../../harness/http/error-response.js';
import { useStore } from '../../../harness/http/store.js';

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';
const NAME_RULE =
  'name must be a string of 1 to 255 characters, at least one of them not white space, without NUL, lone surrogates or byte order marks';
const CATEGORY_RULE = `categoryId must be an integer from ${MIN} to ${MAX}, as a JSON number and not as a string`;
const STATUS_RULE = 'status must be one of available, pending, sold';
/** Returns the message for this value, which can be an array. */
const messageFor = (value: string, rule: string): string =>
  value.startsWith('[') ? `${rule}, not several values` : rule;

const store = useStore();

const add = (members: string) => store.api.post('/v1/items', `{${members}}`);
const addCategory = (token: string) => add(`"name":"Frank","categoryId":${token}`);

/** Returns the digits of the number as they stand in the text. */
const categoryIn = (text: string): string | undefined => /"categoryId":([^,]+),/.exec(text)?.[1];

async function stored(id: number) {
  const [row] = await store.query(
    `SELECT name, category_id::text AS category, status, created_by_key_id AS "keyId"
       FROM test_items WHERE id = $1`,
    [id],
  );
  return row!;
}

async function countItems(): Promise<number> {
  const [row] = await store.query<{ count: number }>('SELECT count(*)::int FROM test_items');
  return row!.count;
}

/** Expects a 400 with these rules in its message, and no new item. */
async function expectInvalid(body: string | undefined, ...rules: string[]): Promise<void> {
  const before = await countItems();
  const headers = { 'Content-Type': 'application/json' };
  const response = await store.api.send('/v1/items', { method: 'POST', headers, body });
  expect(expectError(response, 400, 'invalid_request')).toBe(`${rules.join('; ')}.`);
  expect(await countItems()).toBe(before);
}

describe('POST /v1/items', () => {
  it('201 with the item and its assigned id, which every caller can read', async () => {
    const { status, headers, text, json } = await add(
      `"name":"Frank","categoryId":${MAX},"status":"sold"`,
    );

    expect([status, headers['content-type']]).toEqual([201, 'application/json']);
    expect(text).toBe(`{"id":${json.id},"name":"Frank","categoryId":${MAX},"status":"sold"}`);
    expect(json.id).toBeGreaterThan(0);
    const other = new ApiClient(store.service, (await createOwner(store.service.database)).key);
    expect((await other.get(`/v1/items/${json.id}`)).text).toBe(text);
    expect((await other.get('/v1/items?status=sold')).text).toBe(`[${text}]`);
  });

  it('201 and unknown properties are ignored and never stored', async () => {
    const { status, text, json } = await add(
      `"id":1,"name":"Frank","__proto__":{"status":"sold","name":"Evil"},"categoryId":${MAX},
       "created_by_key_id":0,"createdByKeyId":0,
       "category_id":8,"constructor":null,"toString":1,"":[[]],"weight":${'9'.repeat(200)}`,
    );

    expect([status, categoryIn(text)]).toEqual([201, MAX]);
    expect(json).toMatchObject({ name: 'Frank', status: 'available' });
    expect(json.id).toBeGreaterThan(1);
    expect(await stored(json.id)).toMatchObject({ name: 'Frank', keyId: store.owner.keyId });
  });
});

describe('POST /v1/items › name', () => {
  it.each([
    'x',
    'x'.repeat(255),
    '🐈'.repeat(255),
    `${' '.repeat(254)}x`,
    '  Frank\t\n',
    'Zoë'.normalize('NFC'),
    'Zoë'.normalize('NFD'),
    '👨‍👩‍👧‍👦',
    'חתול قط',
    '"\\/\b\f\n\r\t\u0001\u001f\u007f',
    'a\u2028b\u2029c',
    '\ufffe\uffff\u{10ffff}',
    '\ufffd',
    `'; DROP TABLE test_items; -- <script>$1%s\${x}`,
    '\u200b',
    'null',
  ])('201, and stored and returned exactly as sent: %j', async (name) => {
    const { status, json } = await add(`"name":${JSON.stringify(name)},"categoryId":7`);

    expect([status, json.name]).toEqual([201, name]);
    expect((await stored(json.id))['name']).toBe(name);
    expect((await store.api.get(`/v1/items/${json.id}`)).json.name).toBe(name);
  });

  it.each([
    '"a\\ufeffb"',
    '"\\ufeffa"',
    '"a\ufeff"',
    '""',
    '" "',
    `"${' '.repeat(255)}"`,
    '"\\t\\n\\u000b\\f\\r"',
    '"\\u0085\\ufeff"',
    '"\\u00a0\\u1680\\u2000\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000"',
    `"${'x'.repeat(256)}"`,
    `"${'🐈'.repeat(256)}"`,
    `"${'x'.repeat(255)}🐈"`,
    `"${'x'.repeat(255)} "`,
    `"${'x'.repeat(50_000)}"`,
    '"\\u0000"',
    '"Fr\\u0000ank"',
    '"Frank\\ud83d"',
    '"\\udc08Frank"',
    '"\\udc08\\ud83d"',
    'null',
    '5',
    'true',
    '["Frank"]',
    '{"toString":"Frank"}',
  ])('400 when it is %s', async (name) => {
    await expectInvalid(`{"name":${name},"categoryId":7}`, messageFor(name, NAME_RULE));
  });
});

/** Numbers of JSON by their value. */
const NOTATIONS: Record<string, string> = {
  '0': `0 -0 -0.0 0e5 -0E-7 0.0e999999`,
  '1': `1 100e-2 0.${'0'.repeat(50)}1e51`,
  '-1': '-1',
  '5': `5.0 5.${'0'.repeat(98)}`,
  '-12': '-12.000 -1200.0e-2',
  '15': '1.5e1 1.50e+01',
  '1000': '1e3 1E+3',
  '9007199254740991': '9007199254740991',
  '9007199254740992': '9007199254740992',
  '9007199254740993': '9007199254740993 9007199254740993.000',
  '-9007199254740993': '-9007199254740993',
  '1000000000000000000': '1e18',
  '9223372036854775806': '9223372036854775806',
  [MAX]: `${MAX} ${MAX}.0 922337203.6854775807e10 92233720368547758070e-1 ${MAX}${'0'.repeat(70)}e-70`,
  [MIN]: `${MIN} -9.223372036854775808e18`,
};

describe('POST /v1/items › categoryId', () => {
  it.each(
    Object.entries(NOTATIONS).flatMap(([value, tokens]) =>
      tokens.split(' ').map((token): [string, string] => [token, value]),
    ),
  )('201 with the exact value of %s', async (token, value) => {
    const { status, text, json } = await addCategory(token);

    expect([status, categoryIn(text)]).toEqual([201, value]);
    expect((await stored(json.id))['category']).toBe(value);
    expect(categoryIn((await store.api.get(`/v1/items/${json.id}`)).text)).toBe(value);
  });

  it.each([
    ...`9223372036854775808 -9223372036854775809 ${MAX}.5 ${MAX}.00000000001`.split(' '),
    ...'922337203.6854775808e10 9223372036854775807e1 1e19 1e99 1e400 -1e400'.split(' '),
    ...'1e999999999999999999999 5.5 -0.5 5e-1 0.1 5.00000000000000001 15e-2 1e-400'.split(' '),
    ...'4.99999999999999999999 1e-999999999999999999999 9007199254740993.0000001'.split(' '),
    // A double would hold the integer 123456789.
    ...'100000000000000000000 0.9999999999999999999 123456789.00000000001'.split(' '),
    ...'"5" "" true false null [] [5] {}'.split(' '),
    // Tokens of 101 characters.
    ...['1', '0.', '5.', '-5.', '5e'].map((start) => start.padEnd(101, '0')),
    `${'5'.padEnd(96, '0')}e-095`,
    '9'.repeat(100_000),
  ])('400 when it is %s', async (token) => {
    await expectInvalid(`{"name":"Frank","categoryId":${token}}`, messageFor(token, CATEGORY_RULE));
  });

  it.each('01 +1 .5 1. 1e 0x10 1_000 NaN Infinity - --1 1n １'.split(' '))(
    '400 malformed_json when it is not a number of JSON: %s',
    async (token) => {
      expectError(await addCategory(token), 400, 'malformed_json');
    },
  );
});

describe('POST /v1/items › status', () => {
  it.each(['available', 'pending', 'sold'])('201 with status %s as sent', async (status) => {
    const { json } = await add(`"status":"${status}","categoryId":7,"name":"Frank"`);

    expect(json.status).toBe(status);
    expect((await stored(json.id))['status']).toBe(status);
  });

  it.each(['"sold "', ...'null "" "lost" "Available" 0 true ["sold"] {} 1e0'.split(' ')])(
    '400 when it is %s',
    async (status) => {
      const body = `{"name":"Frank","categoryId":7,"status":${status}}`;
      await expectInvalid(body, messageFor(status, STATUS_RULE));
    },
  );
});

describe('POST /v1/items › a body with invalid properties', () => {
  const required = (rule: string): string => rule.replace(' must be', ' is required and must be');
  const NEEDS_NAME = required(NAME_RULE);
  const NEEDS_CATEGORY = required(CATEGORY_RULE);

  it.each<[body: string | undefined, ...rules: string[]]>([
    [undefined, `The request body is empty. ${NEEDS_NAME}`, NEEDS_CATEGORY],
    ['{"status":"sold"}', NEEDS_NAME, NEEDS_CATEGORY],
    ['{"name":"Frank"}', NEEDS_CATEGORY],
    ['{"categoryId":7}', NEEDS_NAME],
    [
      '{"categoryid":7,"NAME":"Frank"}',
      NEEDS_NAME,
      NEEDS_CATEGORY,
      'NAME must be written as name',
      'categoryid must be written as categoryId',
    ],
    ['{"name":"Frank","categoryId":7,"Status":"sold"}', 'Status must be written as status'],
    [
      '{"name":"","categoryId":7,"status":"sold","STATUS":{"sold":1e0}}',
      NAME_RULE,
      'STATUS must be written as status',
    ],
    ['{"__proto__":{"name":"Frank","categoryId":7}}', NEEDS_NAME, NEEDS_CATEGORY],
    ['{"__proto__":{"name":"Frank","categoryId":7e0}}', NEEDS_NAME, NEEDS_CATEGORY],
    ['{"status":null,"categoryId":null,"name":null}', NAME_RULE, CATEGORY_RULE, STATUS_RULE],
    ['{"status":"lost","name":""}', NAME_RULE, NEEDS_CATEGORY, STATUS_RULE],
    ['{"status":"lost","categoryId":1,"name":""}', NAME_RULE, STATUS_RULE],
  ])('400 that names every one of them in order, and what it accepts: %s', expectInvalid);

  it.each(['null', 'true', '5', '"Frank"', '[]', '[{"name":"Frank","categoryId":7}]', '1e3'])(
    '400 when the body is not an object: %s',
    (body) => expectInvalid(body, 'The request body must be a JSON object'),
  );
});

test.each([
  ['"name":"A","name":"Frank","categoryId":2', 201],
  ['"name":5,"n\\u0061me":"Frank","categoryId":2', 201],
  ['"categoryId":1e0,"categoryId":2,"name":"Frank"', 201],
  ['"categoryId":"x","categoryId":2e0,"name":"Frank"', 201],
  ['"categoryId":1,"categoryId":2e0,"name":"A","name":"Frank"', 201],
  ['"name":"Frank","name":"","categoryId":7', 400],
  ['"name":"Frank","categoryId":7,"categoryId":null', 400],
  ['"name":"Frank","categoryId":7e0,"categoryId":7.5', 400],
])(
  'POST /v1/items › a property given twice › the last one counts: %s › %i',
  async (members, status) => {
    const response = await add(members);

    if (status === 400) expectError(response, 400, 'invalid_request');
    else expect(response).toMatchObject({ status, json: { name: 'Frank', categoryId: 2 } });
  },
);
