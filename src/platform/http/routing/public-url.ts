import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The prefix of the URLs in `Link` headers (RFC 8288). It never depends on the Host header, which
 * the client chooses.
 */
export class PublicUrl {
  /** @param prefix PUBLIC_URL; '' for relative references */
  constructor(private prefix = '') {}

  /** Returns the URL of a path and query of the service. */
  urlOf(path: string): string {
    return this.prefix + path;
  }

  /**
   * Without PUBLIC_URL, uses the address that the server listens on if it is a loopback address and no
   * proxy is in front of it. Returns whether the URLs are absolute.
   */
  useAddressOf(server: Server, hasProxy: boolean): boolean {
    const { address } = server.address() as AddressInfo;
    const isLoopback = /^(?:::ffff:)?127\.|^::1$/.test(address);
    if (this.prefix === '' && isLoopback && !hasProxy) this.prefix = addressOf(server);
    return this.prefix !== '';
  }
}

/** Returns the URL that a server listens on. */
export function addressOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
