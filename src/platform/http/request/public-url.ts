import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Injectable } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Settings } from '../../config/settings.js';

const LOOPBACK = /\/(?:\[::ffff:)?127\.|\/\[::1\]/;

/**
 * The prefix of the URLs in `Link` headers (RFC 8288): PUBLIC_URL, or the address of a listener that
 * only this machine reaches. It never depends on the Host header, which the client chooses.
 */
@Injectable()
export class PublicUrl {
  private text: string | undefined;

  constructor(
    private readonly settings: Settings,
    private readonly host: HttpAdapterHost,
  ) {}

  /** '' for relative references. Known from when the server listens. */
  get value(): string {
    return (this.text ??= this.settings.server.publicUrl ?? this.loopbackAddress());
  }

  private loopbackAddress(): string {
    const address = addressOf(this.host.httpAdapter.getHttpServer() as Server);
    return LOOPBACK.test(address) && this.settings.server.trustProxy === 0 ? address : '';
  }
}

/** Returns the URL that a server listens on. */
export function addressOf(server: Server): string {
  const { address, port, family } = server.address() as AddressInfo;
  return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`;
}
