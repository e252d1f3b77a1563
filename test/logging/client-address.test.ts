import { loggedAddress } from '../../src/platform/http/request/logged-address.js';

test.each([
  ['203.0.113.77', '203.0.113.77', '203.0.113.0/24'],
  ['::ffff:203.0.113.77', '203.0.113.77', '203.0.113.0/24'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2:3:4:5:6', '2001:db8:1::/48'],
  ['2001:DB8::6', '2001:DB8::6', '2001:db8::/48'],
  ['::1', '::1', '::/48'],
  ['::', '::', '::/48'],
  ['2001::a:b:c:d:e:f', '2001::a:b:c:d:e:f', '2001:0:a::/48'],
  ['fe80::1%eth0', 'fe80::1%eth0', 'fe80::/48'],
  ['64:ff9b::203.0.113.77', '64:ff9b::203.0.113.77', '64:ff9b::/48'],
])('%s is logged as %s, or as its network %s', (address, full, network) => {
  expect(loggedAddress(address, 'full')).toBe(full);
  expect(loggedAddress(address, 'network')).toBe(network);
  expect(loggedAddress(address, 'off')).toBeUndefined();
});

test.each(['full', 'network', 'off'] as const)('%s: an unknown address is not logged', (form) => {
  expect(loggedAddress(undefined, form)).toBeUndefined();
});
