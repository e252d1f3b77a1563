import { ApiClient } from '../harness/http/client.js';
import { createOwner } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let api: ApiClient;

beforeAll(async () => {
  service = await startService();
  api = new ApiClient(service, (await createOwner(service.database)).key);
});

afterAll(() => service.close());

const MAX = '9223372036854775807';
const MIN = '-9223372036854775808';

const postCategory = (token: string) =>
  api.post('/v1/pets', `{"name":"Frank","categoryId":${token}}`);

/** Returns the number's digits as they stand in the text. */
const categoryIn = (text: string): string | undefined => /"categoryId":([^,]+),/.exec(text)?.[1];

describe('POST /v1/pets › categoryId', () => {
  it.each([
    // token, value
    ['0', '0'],
    ['-0', '0'],
    ['-0.0', '0'],
    ['0e5', '0'],
    ['-0E-7', '0'],
    ['0.0e999999', '0'],
    ['1', '1'],
    ['-1', '-1'],
    ['999999999999999', '999999999999999'],
    ['9007199254740991', '9007199254740991'],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['1234567890123456789', '1234567890123456789'],
    ['9223372036854775806', '9223372036854775806'],
    [MAX, MAX],
    [MIN, MIN],
    ['5.0', '5'],
    ['-5.000', '-5'],
    [`5.${'0'.repeat(98)}`, '5'],
    ['1e3', '1000'],
    ['1E+3', '1000'],
    ['1.5e1', '15'],
    ['1.50e+01', '15'],
    ['100e-2', '1'],
    ['-1200.0e-2', '-12'],
    ['1e18', '1000000000000000000'],
    ['922337203.6854775807e10', MAX],
    ['9223372036854775807.0', MAX],
    ['92233720368547758070e-1', MAX],
    ['-9.223372036854775808e18', MIN],
    [`${MAX}${'0'.repeat(70)}e-70`, MAX],
    ['9007199254740993.000', '9007199254740993'],
    [`0.${'0'.repeat(50)}1e51`, '1'],
  ])('201 with the exact value of %s', async (token, value) => {
    const response = await postCategory(token);

    expect(response.status).toBe(201);
    expect(categoryIn(response.text)).toBe(value);
    const { id } = response.json;
    const [row] = await service.database.query('SELECT category_id::text FROM pets WHERE id = $1', [
      id,
    ]);
    expect(row).toEqual({ category_id: value });
    expect(categoryIn((await api.get(`/v1/pets/${id}`)).text)).toBe(value);
  });

  it.each([
    '9223372036854775808',
    '-9223372036854775809',
    '9223372036854775807.5',
    '9223372036854775807.00000000001',
    '922337203.6854775808e10',
    '9223372036854775807e1',
    '1e19',
    '1e99',
    '1e400',
    '-1e400',
    '1e999999999999999999999',
    '5.5',
    '-0.5',
    '5e-1',
    '15e-2',
    '0.1',
    '5.00000000000000001',
    '4.99999999999999999999',
    '1e-400',
    '1e-999999999999999999999',
    '9007199254740992.5',
    '9007199254740993.0000001',
    '0.9999999999999999999',
    // A double would be the integer 123456789.
    '123456789.00000000001',
    '100000000000000000000',
    '"5"',
    '""',
    'true',
    'false',
    'null',
    '[]',
    '[5]',
    '{}',
  ])('400 when it is %s', async (token) => {
    const response = await postCategory(token);

    expect(response.status).toBe(400);
    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `categoryId must be an integer from ${MIN} to ${MAX}.`,
      status: 400,
    });
  });

  it.each([
    ['digits', `1${'0'.repeat(100)}`],
    ['a fraction of zeros', `5.${'0'.repeat(99)}`],
    ['a sign and a fraction of zeros', `-5.${'0'.repeat(98)}`],
    ['an exponent', `5e${'0'.repeat(99)}`],
    ['zeros', `0.${'0'.repeat(99)}`],
    ['101 characters whose value fits', `${'5'.padEnd(96, '0')}e-095`],
  ])('400 when its token has 101 characters: %s', async (_what, token) => {
    expect(token).toHaveLength(101);

    expect((await postCategory(token)).json).toMatchObject({ code: 'invalid_request' });
  });

  it('400 within a moment when it has a hundred thousand digits', async () => {
    const response = await postCategory('9'.repeat(100_000));

    expect(response.json).toMatchObject({ code: 'invalid_request' });
  });

  it.each([
    '01',
    '+1',
    '.5',
    '1.',
    '1e',
    '0x10',
    '1_000',
    'NaN',
    'Infinity',
    '-',
    '--1',
    '1n',
    '１',
  ])('400 malformed_json when it is no number of JSON: %s', async (token) => {
    expect((await postCategory(token)).json).toMatchObject({ code: 'malformed_json' });
  });

  it('201 with a long number in a member that is ignored', async () => {
    const response = await api.post(
      '/v1/pets',
      `{"weight":${'9'.repeat(200)},"name":"Frank","categoryId":${MAX}}`,
    );

    expect(response.status).toBe(201);
    expect(categoryIn(response.text)).toBe(MAX);
  });
});

describe('GET /v1/pets', () => {
  it('200 with categories over the whole range, exactly', async () => {
    await service.database.query('TRUNCATE pets CASCADE');
    for (const category of [MIN, '-1', '0', '9007199254740993', MAX]) await postCategory(category);

    const { text } = await api.get('/v1/pets');
    expect([...text.matchAll(/"categoryId":([^,]+),/g)].map(([, category]) => category)).toEqual([
      MIN,
      '-1',
      '0',
      '9007199254740993',
      MAX,
    ]);
  });
});
