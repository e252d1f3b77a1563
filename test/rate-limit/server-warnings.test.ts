import { serverWarnings } from '../../src/rate-limit/redis/server-warnings.js';

const info = (version: string, policy: string): string =>
  `# Server\r\nredis_version:${version}\r\nredis_mode:standalone\r\n# Memory\r\nmaxmemory_policy:${policy}\r\n`;

test.each([
  ['7.0.15', 'noeviction', []],
  ['10.0.0', 'noeviction', []],
  ['6.2.14', 'noeviction', [/^Redis 6\.2\.14 is too old/]],
  ['7.2.4', 'allkeys-lru', [/^Redis evicts keys \(maxmemory-policy allkeys-lru\)/]],
  [
    '6.0.0',
    'volatile-ttl',
    [/^Redis evicts keys \(maxmemory-policy volatile-ttl\)/, /^Redis 6\.0\.0/],
  ],
])(
  'a server of version %s with maxmemory-policy %s causes the expected warnings',
  (version, policy, warnings) => {
    expect(serverWarnings(info(version, policy))).toEqual(
      warnings.map((warning) => expect.stringMatching(warning) as string),
    );
  },
);

test('a server that does not report its version and policy causes no warning', () => {
  expect(serverWarnings('# Server\r\n')).toEqual([]);
});
