import type { NestExpressApplication } from '@nestjs/platform-express';
import type { ServerSettings } from '../../config/server-settings.js';
import type { Request } from '../request/request.js';

const SETTING = 'demo API key';

const LOOPBACK = /^(?:localhost|::1|(?:::ffff:)?127(?:\.\d{1,3}){3})$/;

/** Headers of proxies, content delivery networks and scripts. A browser that opens a page sends none. */
const FOREIGN_HEADER = /^(?:x-|cf-|fastly-|proxy-|true-client-ip|cdn-loop|forwarded|via|origin)/;

/** Makes Swagger UI fill in an API key for browsers on this machine. */
export function offerDemoKey(app: NestExpressApplication, key: string): void {
  app.set(SETTING, key);
}

/**
 * Returns the offered key if a browser on this machine has opened the page at the service's own
 * loopback address. Rejects DNS rebinding and proxies (another `Host`, HTTP/1.0, a forwarding
 * header), and pages of other sites (`Origin`, `Sec-Fetch-Site`). SECURITY.md says what remains.
 */
export function demoKeyFor(request: Request, settings: ServerSettings): string | undefined {
  const { headers, httpVersion, originalUrl, socket } = request;
  const { localAddress = '', localPort, remoteAddress = '' } = socket;
  const port = localPort === 80 ? '' : `:${localPort}`;
  const address = localAddress.includes(':') ? `[${localAddress}]` : localAddress;
  const isLocal =
    settings.publicUrl === undefined &&
    settings.trustProxy === 0 &&
    LOOPBACK.test(settings.host) &&
    LOOPBACK.test(remoteAddress) &&
    httpVersion === '1.1' &&
    originalUrl.startsWith('/') &&
    [`localhost${port}`, `${address}${port}`].includes(headers.host ?? '') &&
    [undefined, 'none', 'same-origin'].includes(headers['sec-fetch-site']) &&
    !Object.keys(headers).some((name) => FOREIGN_HEADER.test(name));
  return isLocal ? (request.app.get(SETTING) as string | undefined) : undefined;
}
