import { isIPv4, isIPv6 } from 'node:net';
import type { ClientAddressForm } from '../config/logging-settings.js';

/** An IPv4 address as an IPv6 socket sees it (RFC 4291, section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
const IPV6_GROUPS = 8;

/**
 * Returns the form of an address that the log may show.
 *
 * @param address undefined when the client disconnected before the address was read
 */
export function loggedAddress(
  address: string | undefined,
  form: ClientAddressForm,
): string | undefined {
  if (address === undefined || form === 'off') return undefined;
  const plain = address.startsWith('::') ? address.replace(MAPPED_IPV4, '') : address;
  return form === 'full' ? plain : networkOf(plain);
}

function networkOf(address: string): string | undefined {
  if (isIPv4(address)) return `${address.slice(0, address.lastIndexOf('.'))}.0/24`;
  if (!isIPv6(address)) return undefined;
  const network = ipv6Groups(address).slice(0, 3).join(':');
  // The URL parser returns the canonical form (RFC 5952).
  const { hostname } = new URL(`http://[${network}::]`);
  return `${hostname.slice(1, -1)}/48`;
}

function ipv6Groups(address: string): string[] {
  const [plain = ''] = address.replace(/\d+\.\d+\.\d+\.\d+/, '0:0').split('%');
  const [head = '', tail] = plain.split('::');
  const before = head === '' ? [] : head.split(':');
  if (tail === undefined) return before;
  const after = tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(IPV6_GROUPS - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after];
}
