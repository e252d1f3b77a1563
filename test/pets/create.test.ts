import { ApiClient } from '../harness/http/client.js';
import { createOwner, type TestOwner } from '../harness/database/factories.js';
import { startService, type TestService } from '../harness/service/service.js';

const NAME_RULE =
  'name must be a string of 1 to 255 characters, at least one of them not white space, without NUL or lone surrogates';
const CATEGORY_RULE =
  'categoryId must be an integer from -9223372036854775808 to 9223372036854775807';
const STATUS_RULE = 'status must be one of available, pending, sold';

interface PetRow {
  name: string;
  status: string;
  age_seconds: number;
  created_by_key_id: string;
}

let service: TestService;
let owner: TestOwner;
let api: ApiClient;

beforeAll(async () => {
  service = await startService();
  owner = await createOwner(service.database);
  api = new ApiClient(service, owner.key);
});

afterAll(() => service.close());

async function stored(id: number): Promise<PetRow> {
  const [row] = await service.database.query<PetRow>(
    `SELECT name, status, created_by_key_id, extract(epoch FROM now() - created_at)::float8 AS age_seconds
       FROM pets WHERE id = $1`,
    [id],
  );
  return row!;
}

async function countPets(): Promise<number> {
  const [row] = await service.database.query<{ count: number }>('SELECT count(*)::int FROM pets');
  return row!.count;
}

describe('POST /v1/pets', () => {
  it('201 with the animal and its assigned id, available when no status is given', async () => {
    const response = await api.post('/v1/pets', { name: 'Frank', categoryId: 7 });

    expect(response.status).toBe(201);
    expect(response.headers['content-type']).toBe('application/json');
    const { id } = response.json;
    expect(Number.isInteger(id)).toBe(true);
    expect(response.text).toBe(`{"id":${id},"name":"Frank","categoryId":7,"status":"available"}`);
  });

  it.each(['available', 'pending', 'sold'])('201 with status %s as sent', async (status) => {
    const response = await api.post('/v1/pets', { status, categoryId: 7, name: 'Frank' });

    expect(response.status).toBe(201);
    expect(response.json.status).toBe(status);
    expect((await stored(response.json.id)).status).toBe(status);
  });

  it('201 with an animal that every later get and list returns to every caller', async () => {
    const other = new ApiClient(service, (await createOwner(service.database)).key);
    const { json: pet } = await api.post('/v1/pets', {
      name: 'Frank',
      categoryId: 7,
      status: 'sold',
    });

    expect((await other.get(`/v1/pets/${pet.id}`)).json).toEqual(pet);
    expect((await other.get('/v1/pets?status=sold&limit=100')).json).toContainEqual(pet);
  });

  it('201 with different ids for animals that are added at the same time', async () => {
    const before = await countPets();
    const responses = await Promise.all(
      Array.from({ length: 30 }, () => api.post('/v1/pets', { name: 'Twin', categoryId: 7 })),
    );

    expect(responses.map(({ status }) => status)).toEqual(Array(30).fill(201));
    expect(new Set(responses.map(({ json }) => json.id)).size).toBe(30);
    expect(await countPets()).toBe(before + 30);
  });

  it('201 and unknown properties are ignored and never stored', async () => {
    const response = await api.post(
      '/v1/pets',
      `{"id":1,"name":"Frank","__proto__":{"status":"sold","name":"Evil"},"categoryId":7,
        "created_at":"2000-01-01","createdAt":"2000-01-01","created_by_key_id":0,"createdByKeyId":0,
        "category_id":8,"constructor":null,"toString":1,"hasOwnProperty":{},"":[[]],"Name":"Evil"}`,
    );

    expect(response.status).toBe(201);
    const { id } = response.json;
    expect(id).toBeGreaterThan(1);
    expect(response.text).toBe(`{"id":${id},"name":"Frank","categoryId":7,"status":"available"}`);
    expect(await stored(id)).toMatchObject({ created_by_key_id: owner.keyId });
    expect((await stored(id)).age_seconds).toBeLessThan(60);
  });

  it('201 and the time and the API key are stored', async () => {
    const { json: pet } = await api.post('/v1/pets', { name: 'Frank', categoryId: 7 });

    const row = await stored(pet.id);
    expect(row.created_by_key_id).toBe(owner.keyId);
    expect(Math.abs(row.age_seconds)).toBeLessThan(60);
  });

  it('201 and the query is ignored', async () => {
    const response = await api.post('/v1/pets?limit=0&status=lost&name=Evil', {
      name: 'Frank',
      categoryId: 7,
    });

    expect(response).toMatchObject({ status: 201, json: { name: 'Frank', status: 'available' } });
  });
});

describe('POST /v1/pets › name', () => {
  it.each([
    ['one character', 'x'],
    ['255 characters', 'x'.repeat(255)],
    ['255 code points beyond the BMP', '🐈'.repeat(255)],
    ['254 characters and one beyond the BMP', `${'x'.repeat(254)}🐈`],
    ['white space around it', '  Frank\t\n'],
    ['254 spaces and a letter', `${' '.repeat(254)}x`],
    ['composed letters', 'Zoë'.normalize('NFC')],
    ['decomposed letters', 'Zoë'.normalize('NFD')],
    ['a family of seven code points', '👨‍👩‍👧‍👦'],
    ['quotes, slashes and controls', '"\\/\b\f\n\r\t\u0001\u001f\u007f'],
    ['line separators', 'a\u2028b\u2029c'],
    ['what SQL and HTML would take for theirs', `'; DROP TABLE pets; -- <script>$1%s\${x}`],
    ['noncharacters', '\ufffe\uffff\u{10ffff}'],
    ['the replacement character', '\ufffd'],
    ['a zero-width space', '\u200b'],
    ['right-to-left letters', 'חתול قط'],
    ['digits', '12345678901234567890'],
    ['a word of JSON', 'null'],
  ])('201 and stored and returned exactly as sent: %s', async (_what, name) => {
    const response = await api.post('/v1/pets', { name, categoryId: 7 });

    expect(response.status).toBe(201);
    expect(response.json.name).toBe(name);
    expect((await stored(response.json.id)).name).toBe(name);
    expect((await api.get(`/v1/pets/${response.json.id}`)).json.name).toBe(name);
  });

  it.each(['\\u0046rank', 'Fr\\u0061nk', '\\ud83d\\udc08'])(
    '201 when it is escaped: %s',
    async (escaped) => {
      const response = await api.post('/v1/pets', `{"name":"${escaped}","categoryId":7}`);

      expect(response.status).toBe(201);
      expect(response.json.name).toBe(JSON.parse(`"${escaped}"`));
    },
  );

  it.each([
    ['empty', '""'],
    ['a space', '" "'],
    ['255 spaces', `"${' '.repeat(255)}"`],
    ['tabs and line ends', '"\\t\\n\\u000b\\f\\r"'],
    ['a next-line control', '"\\u0085"'],
    ['a no-break space', '"\\u00a0"'],
    ['a byte order mark', '"\\ufeff"'],
    ['an ogham space', '"\\u1680"'],
    [
      'typographic spaces',
      '"\\u2000\\u2001\\u2002\\u2003\\u2004\\u2005\\u2006\\u2007\\u2008\\u2009\\u200a"',
    ],
    ['line and paragraph separators', '"\\u2028\\u2029"'],
    ['narrow, mathematical and ideographic spaces', '"\\u202f\\u205f\\u3000"'],
    ['256 characters', `"${'x'.repeat(256)}"`],
    ['256 code points beyond the BMP', `"${'🐈'.repeat(256)}"`],
    ['255 characters and one beyond the BMP', `"${'x'.repeat(255)}🐈"`],
    ['255 characters and a space', `"${'x'.repeat(255)} "`],
    ['very long', `"${'x'.repeat(50_000)}"`],
    ['a NUL', '"\\u0000"'],
    ['a NUL within', '"Fr\\u0000ank"'],
    ['a lone high surrogate', '"Frank\\ud83d"'],
    ['a lone low surrogate', '"\\udc08Frank"'],
    ['surrogates in the wrong order', '"\\udc08\\ud83d"'],
    ['null', 'null'],
    ['a number', '5'],
    ['true', 'true'],
    ['an array', '["Frank"]'],
    ['an object', '{"toString":"Frank"}'],
  ])('400 when it is %s', async (_what, name) => {
    const response = await api.post('/v1/pets', `{"name":${name},"categoryId":7}`);

    expect(response.status).toBe(400);
    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `${NAME_RULE}.`,
      status: 400,
    });
  });
});

describe('POST /v1/pets › status', () => {
  it.each(['null', '""', '"lost"', '"Available"', '"sold "', '0', 'true', '["sold"]', '{}', '1e0'])(
    '400 when it is %s',
    async (status) => {
      const response = await api.post(
        '/v1/pets',
        `{"name":"Frank","categoryId":7,"status":${status}}`,
      );

      expect(response.status).toBe(400);
      expect(response.json).toEqual({
        code: 'invalid_request',
        message: `${STATUS_RULE}.`,
        status: 400,
      });
    },
  );
});

describe('POST /v1/pets › a body with invalid properties', () => {
  const required = (rule: string): string => rule.replace(' must be', ' is required and must be');

  it.each([
    ['{}', [required(NAME_RULE), required(CATEGORY_RULE)]],
    ['{"status":"sold"}', [required(NAME_RULE), required(CATEGORY_RULE)]],
    ['{"name":"Frank"}', [required(CATEGORY_RULE)]],
    ['{"categoryId":7}', [required(NAME_RULE)]],
    ['{"categoryid":7,"NAME":"Frank"}', [required(NAME_RULE), required(CATEGORY_RULE)]],
    [
      '{"__proto__":{"name":"Frank","categoryId":7}}',
      [required(NAME_RULE), required(CATEGORY_RULE)],
    ],
    [
      '{"__proto__":{"name":"Frank","categoryId":7e0}}',
      [required(NAME_RULE), required(CATEGORY_RULE)],
    ],
    ['{"status":"lost","categoryId":"7","name":" "}', [NAME_RULE, CATEGORY_RULE, STATUS_RULE]],
    ['{"status":null,"categoryId":null,"name":null}', [NAME_RULE, CATEGORY_RULE, STATUS_RULE]],
    ['{"status":"lost","name":""}', [NAME_RULE, required(CATEGORY_RULE), STATUS_RULE]],
    ['{"status":"lost","categoryId":1.5,"name":"Frank"}', [CATEGORY_RULE, STATUS_RULE]],
    ['{"status":"lost","categoryId":1,"name":""}', [NAME_RULE, STATUS_RULE]],
  ])('400 that names every one of them in order, and what it takes: %s', async (body, messages) => {
    const response = await api.post('/v1/pets', body);

    expect(response.status).toBe(400);
    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `${messages.join('; ')}.`,
      status: 400,
    });
  });

  it('400 that lists the required properties when there is no body', async () => {
    const response = await api.send('/v1/pets', {
      method: 'POST',
      headers: { 'Content-Length': '0' },
    });

    expect(response.status).toBe(400);
    expect(response.json).toEqual({
      code: 'invalid_request',
      message: `${required(NAME_RULE)}; ${required(CATEGORY_RULE)}.`,
      status: 400,
    });
  });

  it.each(['null', 'true', '5', '"Frank"', '[]', '[{"name":"Frank","categoryId":7}]', '1e3'])(
    '400 when the body is not an object: %s',
    async (body) => {
      const response = await api.post('/v1/pets', body);

      expect(response.status).toBe(400);
      expect(response.json).toEqual({
        code: 'invalid_request',
        message: 'The request body must be a JSON object.',
        status: 400,
      });
    },
  );

  it('400 adds nothing and has Cache-Control: no-store', async () => {
    const before = await countPets();
    const { headers } = await api.post('/v1/pets', { name: 'Frank' });

    expect(headers['cache-control']).toBe('no-store');
    expect(await countPets()).toBe(before);
  });
});

describe('POST /v1/pets › a property given twice', () => {
  it.each([
    ['"name":"A","name":"Frank","categoryId":7', 'Frank', 7],
    ['"name":5,"name":"Frank","categoryId":7', 'Frank', 7],
    ['"name":"A","n\\u0061me":"Frank","categoryId":7', 'Frank', 7],
    ['"categoryId":1,"categoryId":2,"name":"Frank"', 'Frank', 2],
    ['"categoryId":1e0,"categoryId":2,"name":"Frank"', 'Frank', 2],
    ['"categoryId":1,"categoryId":2e0,"name":"Frank"', 'Frank', 2],
    ['"categoryId":"x","categoryId":2e0,"name":"Frank"', 'Frank', 2],
    ['"name":"A","categoryId":2e0,"name":"Frank"', 'Frank', 2],
    ['"categoryId":2e0,"categoryId":2,"name":"Frank"', 'Frank', 2],
  ])('201 with the last one: %s', async (members, name, categoryId) => {
    const response = await api.post('/v1/pets', `{${members}}`);

    expect(response).toMatchObject({ status: 201, json: { name, categoryId } });
  });

  it.each([
    ['"name":"Frank","name":"","categoryId":7'],
    ['"name":"Frank","categoryId":7,"categoryId":null'],
    ['"name":"Frank","categoryId":7e0,"categoryId":"7"'],
    ['"name":"Frank","categoryId":7e0,"categoryId":7.5'],
  ])('400 when the last one is wrong: %s', async (members) => {
    expect((await api.post('/v1/pets', `{${members}}`)).json).toMatchObject({
      code: 'invalid_request',
    });
  });
});
