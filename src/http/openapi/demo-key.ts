import { isIP } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ServerSettings } from '../../config/server-settings.js';
import type { Request } from '../request/request.js';

const SETTING = 'demo API key';

/** Makes Swagger UI fill in an API key for requests that come from this machine. */
export function offerDemoKey(app: NestExpressApplication, key: string): void {
  app.set(SETTING, key);
}

/**
 * Returns the offered key if only a program on this machine can have sent the request. Rejects DNS
 * rebinding (a foreign `Host`), pages of other sites (`Origin`), and proxies (forwarding headers).
 */
export function demoKeyFor(request: Request, settings: ServerSettings): string | undefined {
  const { host = '', origin, forwarded, via } = request.headers;
  const isForwarded =
    settings.trustProxy !== 0 ||
    [forwarded, via, request.headers['x-forwarded-for'], request.headers['x-real-ip']].some(
      (header) => header !== undefined,
    );
  const isLocal =
    isLoopback(settings.host) &&
    isLoopback(request.socket.remoteAddress ?? '') &&
    isLoopback(host.replace(/:\d*$/, ''));
  if (!isLocal || isForwarded || origin !== undefined) return undefined;
  return request.app.get(SETTING) as string | undefined;
}

function isLoopback(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:/, '');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
