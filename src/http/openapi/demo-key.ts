import { isIP } from 'node:net';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ServerSettings } from '../../config/server-settings.js';
import type { Request } from '../request/request.js';

const SETTING = 'demo API key';
const REMOTE_HEADERS = ['origin', 'forwarded', 'via', 'x-forwarded-for', 'x-real-ip'];

/** Makes Swagger UI fill in an API key for requests that come from this machine. */
export function offerDemoKey(app: NestExpressApplication, key: string): void {
  app.set(SETTING, key);
}

/**
 * Returns the offered key if only a program on this machine can have sent the request. Rejects DNS
 * rebinding (a foreign `Host`), pages of other sites (`Origin`), and proxies (forwarding headers).
 */
export function demoKeyFor(request: Request, settings: ServerSettings): string | undefined {
  const { headers, socket } = request;
  const isRemote = settings.trustProxy !== 0 || REMOTE_HEADERS.some((name) => name in headers);
  const hosts = [settings.host, socket.remoteAddress, headers.host?.replace(/:\d*$/, '')];
  if (isRemote || !hosts.every((host) => isLoopback(host ?? ''))) return undefined;
  return request.app.get(SETTING) as string | undefined;
}

function isLoopback(host: string): boolean {
  const name = host
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/^::ffff:/, '');
  return name === 'localhost' || name === '::1' || (isIP(name) === 4 && name.startsWith('127.'));
}
