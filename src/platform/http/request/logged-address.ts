import { isIPv4 } from 'node:net';
import { normalizeIp } from '@nestjs/throttler';
import type { LoggingSettings } from '../../config/logging-settings.js';

/** An IPv4 address as an IPv6 socket sees it (RFC 4291, section 2.5.5.2). */
const MAPPED_IPV4 = /^::ffff:(?=\d+\.)/i;
const IPV6_NETWORK_BITS = 48;

/** Returns the form of an address that the log may show. */
export function loggedAddress(
  address: string | undefined,
  form: LoggingSettings['clientAddress'],
): string | undefined {
  if (address === undefined || form === 'off') return undefined;
  if (form === 'full') return address.startsWith('::') ? address.replace(MAPPED_IPV4, '') : address;
  const network = normalizeIp(address, IPV6_NETWORK_BITS);
  if (isIPv4(network)) return `${network.slice(0, network.lastIndexOf('.'))}.0/24`;
  // The loopback address is the only one that normalizeIp returns without its prefix.
  return network === '::1' ? '::/48' : network;
}
