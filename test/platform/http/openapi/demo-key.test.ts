import { Settings } from '../../../../src/platform/config/settings.js';
import { DemoKey } from '../../../../src/platform/http/openapi/demo-key.js';
import type { Request } from '../../../../src/platform/http/request/request.js';
import { PRODUCT } from '../../../../src/product.js';

test.each<[Record<string, string>, string | undefined]>([
  [{}, 'demo-key'],
  [{ TRUST_PROXY: '1' }, undefined],
  [{ PUBLIC_URL: 'http://127.0.0.1' }, undefined],
  [{ HOST: '0.0.0.0' }, undefined],
])('with %j, the page shows the key %s', (env, expected) => {
  const demo = new DemoKey(new Settings(PRODUCT, env));
  demo.offer('demo-key', '/');
  const headers = { host: '127.0.0.1:3000' };
  const request = {
    headers,
    httpVersion: '1.1',
    originalUrl: '/docs',
    socket: { localPort: 3000 },
  };
  expect(demo.for(request as unknown as Request)).toBe(expected);
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['0.0.0.0', '127.0.0.1'],
  ['[::]', '[::1]'],
])('with a listener on %s, the welcome text has an address to call: %s', (listens, called) => {
  const demo = new DemoKey(new Settings(PRODUCT, {}));
  demo.offer('demo-key', '/');
  const text = demo.welcomeText(`http://${listens}:3000`);
  expect(text.match(/http:[^/]*\/\/[^/\s]+/g)).toEqual(Array(3).fill(`http://${called}:3000`));
});

test('without a valid key, the welcome text has the command that issues one', () => {
  const text = new DemoKey(new Settings(PRODUCT, {})).welcomeText('http://127.0.0.1:3000');
  expect(text).toContain('\n  npm run --silent cli -- keys issue --owner me --plan business\n');
});
