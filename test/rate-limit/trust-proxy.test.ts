import { type ApiResponse, send } from '../harness/http/client.js';
import { limitsOf } from '../harness/rate-limit/limits.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;

function forwarded(headers: Record<string, string>): Promise<ApiResponse> {
  return send(service, '/v1/pets', { headers });
}

async function remainingFor(addresses: string): Promise<number> {
  return limitsOf(await forwarded({ 'X-Forwarded-For': addresses })).remaining;
}

describe('by default', () => {
  beforeAll(async () => {
    service = await startService();
  });
  afterAll(() => service.close());

  it('401 › an address has 300 requests per minute', async () => {
    expect(limitsOf(await forwarded({}))).toMatchObject({ limit: 300, remaining: 299 });
  });

  it.each([
    ['X-Forwarded-For', '203.0.113.1'],
    ['X-Forwarded-For', '203.0.113.2, 127.0.0.1'],
    ['X-Real-IP', '203.0.113.3'],
    ['Forwarded', 'for=203.0.113.4'],
    ['CF-Connecting-IP', '203.0.113.5'],
  ])('401 › %s: %s does not change the client address', async (name, value) => {
    const { remaining } = limitsOf(await forwarded({}));
    expect(limitsOf(await forwarded({ [name]: value })).remaining).toBe(remaining - 1);
  });
});

describe('with TRUST_PROXY=2', () => {
  beforeAll(async () => {
    service = await startService({ env: { TRUST_PROXY: '2' } });
  });
  afterAll(() => service.close());

  it('401 › the address is the one that the second-to-last proxy reports', async () => {
    expect(await remainingFor('203.0.113.1, 10.0.0.1')).toBe(299);
    expect(await remainingFor('203.0.113.1, 10.0.0.2')).toBe(298);
    expect(await remainingFor('203.0.113.9, 203.0.113.1, 10.0.0.1')).toBe(297);
    expect(await remainingFor('203.0.113.1, 203.0.113.9, 10.0.0.1')).toBe(299);
  });
});

describe('with TRUST_PROXY=127.0.0.1,10.0.0.0/8', () => {
  beforeAll(async () => {
    service = await startService({ env: { TRUST_PROXY: '127.0.0.1,10.0.0.0/8' } });
  });
  afterAll(() => service.close());

  it('401 › the address is the last one that is not a proxy’s', async () => {
    expect(await remainingFor('203.0.113.1')).toBe(299);
    expect(await remainingFor('203.0.113.1, 10.0.0.1')).toBe(298);
    expect(await remainingFor('203.0.113.1, 10.0.0.1, 10.255.0.1')).toBe(297);
    expect(await remainingFor('203.0.113.1, 192.0.2.1, 10.0.0.1')).toBe(299);
  });
});
