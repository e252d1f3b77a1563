import { isIPv4 } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';
import type { LoggingSettings } from '../../config/settings.js';

/** One client usually has a whole network of this size. */
const IPV6_NETWORK_BITS = 64;

/** Returns the address that limits per client apply to: an IPv4 address or an IPv6 /64 network. */
export function clientNetwork(address: string | undefined): string {
  return address === undefined ? 'unknown' : normalizeIp(address, IPV6_NETWORK_BITS);
}

/** Returns the form of an address that the log may show. */
export function loggedAddress(
  address: string | undefined,
  form: LoggingSettings['clientAddress'],
): string | undefined {
  if (address === undefined || form === 'off') return undefined;
  // An IPv4 address as an IPv6 socket sees it (RFC 4291, section 2.5.5.2).
  if (form === 'full') return address.replace(/^::ffff:(?=\d+\.)/i, '');
  const network = normalizeIp(address, 48);
  if (isIPv4(network)) return `${network.slice(0, network.lastIndexOf('.'))}.0/24`;
  // The loopback address is the only one that normalizeIp returns without its prefix.
  return network === '::1' ? '::/48' : network;
}
