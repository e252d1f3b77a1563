import fc from 'fast-check';
import type { ApiResponse } from '../harness/http/client.js';
import { holds } from '../harness/fuzz/property.js';
import { Target } from '../harness/fuzz/target.js';

const KEY_LENGTH = 40;

let target: Target;

beforeAll(async () => {
  target = await Target.start();
});
afterAll(() => target.close());

function authorize(authorization: string): Promise<ApiResponse> {
  const headers = [['Authorization', authorization] as const];
  return target.send({ method: 'GET', target: '/v1/pets', headers });
}

/** Expects the response for an invalid API key. */
async function expectInvalid(key: string): Promise<void> {
  const { status, json } = await authorize(`Bearer ${key}`);
  expect([status, json.code]).toEqual([401, 'invalid_api_key']);
}

const visibleByte = fc
  .oneof(fc.integer({ min: 0x21, max: 0x7e }), fc.integer({ min: 0x80, max: 0xff }))
  .map((byte) => String.fromCharCode(byte));

test('GET /v1/pets › 401 with an API key in which any single character is replaced', async () => {
  for (let at = 0; at < KEY_LENGTH; at++) {
    const original = target.key.charAt(at);
    const others = Array.from('0Aaz_').filter((character) => character !== original);
    for (const other of others) {
      await expectInvalid(target.key.slice(0, at) + other + target.key.slice(at + 1));
    }
  }
});

test('GET /v1/pets › 401 with an API key with random changes', async () => {
  const change = fc.record({
    at: fc.integer({ min: 0, max: KEY_LENGTH - 1 }),
    remove: fc.integer({ min: 0, max: KEY_LENGTH }),
    insert: fc.array(visibleByte, { maxLength: 3 }).map((characters) => characters.join('')),
  });
  await holds(fc.array(change, { minLength: 1, maxLength: 3 }), async (changes) => {
    const key = changes.reduce(
      (text, { at, remove, insert }) => text.slice(0, at) + insert + text.slice(at + remove),
      target.key,
    );
    if (key === target.key) return;
    if (key !== '') await expectInvalid(key);
    else expect((await authorize('Bearer ')).status).toBe(401);
  });
});

test('GET /v1/pets › 401 with an API key in which characters are swapped or change case', async () => {
  const position = fc.integer({ min: 0, max: KEY_LENGTH - 1 });
  await holds(fc.tuple(position, position, fc.boolean()), async ([first, second, swaps]) => {
    const characters = Array.from(target.key);
    const [a = '', b = ''] = [characters[first], characters[second]];
    if (swaps) [characters[first], characters[second]] = [b, a];
    else characters[first] = a === a.toLowerCase() ? a.toUpperCase() : a.toLowerCase();
    const key = characters.join('');
    if (key !== target.key) await expectInvalid(key);
  });
});

test('GET /v1/pets › 200 with the scheme in any case, 401 with any other scheme', async () => {
  const scheme = fc.oneof(
    fc.mixedCase(fc.constant('bearer')),
    fc.stringMatching(/^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,8}$/),
  );
  await holds(scheme, async (name) => {
    const { status, json } = await authorize(`${name} ${target.key}`);
    if (name.toLowerCase() === 'bearer') expect(status).toBe(200);
    else expect([status, json.code]).toEqual([401, 'missing_api_key']);
  });
});
