import { isIP } from 'node:net';
import type { EnvironmentReader } from './environment-reader.js';

const PORT = { min: 0, max: 65_535 };
const TIMEOUT = { min: 0.1, max: 3600 };
/** Express throws for other forms that Node.js accepts, such as 64:ff9b::192.0.2.1. */
const EXPRESS_ADDRESS = /^(?:[\d.]+|[\da-f:]+(?:%[\da-z]+)?|[0:]+:ffff:[\d.]+)$/i;
const SHUTDOWN = { min: 0, max: 600 };

export type ServerSettings = Readonly<ReturnType<typeof readServerSettings>>;

export function readServerSettings(read: EnvironmentReader) {
  const requestTimeoutMs = read.seconds('REQUEST_TIMEOUT_SECONDS', 30, TIMEOUT);
  const headers = Math.min(10, requestTimeoutMs / 1000);
  const headersTimeoutMs = read.seconds('HEADERS_TIMEOUT_SECONDS', headers, { min: 0.1, max: 600 });
  if (headersTimeoutMs > requestTimeoutMs)
    read.reject('HEADERS_TIMEOUT_SECONDS', 'at most REQUEST_TIMEOUT_SECONDS');
  const port = read.integer('PORT', 3000, PORT);
  const metricsPort =
    read.environment['METRICS_PORT'] === '' ? undefined : read.integer('METRICS_PORT', 9464, PORT);
  if (metricsPort === port && port !== 0) read.reject('METRICS_PORT', 'another port than PORT');
  return {
    port,
    host: read.visibleText('HOST', '127.0.0.1'),
    /** undefined: no metrics listener. */
    metricsPort,
    metricsHost: read.visibleText('METRICS_HOST', '127.0.0.1'),
    publicUrl: baseAddress(read, 'PUBLIC_URL'),
    stagingUrl: baseAddress(read, 'STAGING_URL'),
    /** The address of the guide for client developers. */
    clientGuideUrl: webAddress(read, 'CLIENT_GUIDE_URL'),
    /** Express's `trust proxy`: the number of proxies, or their addresses. */
    trustProxy: trustProxy(read),
    corsOrigins: corsOrigins(read),
    /** Whether the service serves the documentation and the OpenAPI description. */
    docs: read.boolean('DOCS', true),
    headersTimeoutMs,
    requestTimeoutMs,
    // Common load balancers drop an idle connection after 60 s. If the service closed it first, the
    // next request could meet a closed socket.
    keepAliveTimeoutMs: read.seconds('KEEP_ALIVE_TIMEOUT_SECONDS', 65, TIMEOUT),
    stalledConnectionTimeoutMs: read.seconds('STALLED_CONNECTION_TIMEOUT_SECONDS', 60, TIMEOUT),
    shutdownDelayMs: read.seconds('SHUTDOWN_DELAY_SECONDS', 0, SHUTDOWN),
    shutdownGraceMs: read.seconds('SHUTDOWN_GRACE_SECONDS', 10, SHUTDOWN),
  };
}

function baseAddress(read: EnvironmentReader, name: string): string | undefined {
  const text = read.visibleText(name);
  if (text === undefined) return undefined;
  // The normalized address is checked, because `https://a/v1/.` and `https://a\v1` also end in v1.
  const base = URL.canParse(text) ? new URL(text).href.replace(/\/+$/, '') : '/v1';
  const endsInVersion = /\/(?:v|%76)(?:1|%31)$/.test(base);
  if (!endsInVersion && /^https?:\/\/[^\s<>"?#@\\/][^\s<>"?#@]*$/.test(text)) return base;
  const expected = 'an http or https address without a query and without v1';
  return read.reject(name, `${expected}, such as https://api.example.org`);
}

function webAddress(read: EnvironmentReader, name: string): string | undefined {
  const text = read.visibleText(name);
  if (text === undefined || (/^https?:\/\/[^\s<>"@]+$/.test(text) && URL.canParse(text)))
    return text;
  return read.reject(name, 'an http or https address of a page');
}

function trustProxy(read: EnvironmentReader): number | string[] {
  const text = read.text('TRUST_PROXY', '0');
  if (/^\d{1,3}$/.test(text)) return Number(text);
  const addresses = read.list('TRUST_PROXY');
  if (addresses.length > 0 && addresses.every(isAddressOrSubnet)) return addresses;
  const expected = 'a number of proxies, or their addresses or subnets, comma-separated';
  return read.reject('TRUST_PROXY', expected, 0);
}

function isAddressOrSubnet(text: string): boolean {
  const [, address = '', length] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text) ?? [];
  const max = isIP(address) === 6 ? 128 : 32;
  // Express throws for 0, and a network that contains ::ffff:0:0/96 matches no address.
  const min = /^[0:]+:ffff:/i.test(address) ? 96 : 1;
  const bits = Number(length ?? max);
  return isIP(address) !== 0 && EXPRESS_ADDRESS.test(address) && bits >= min && bits <= max;
}

function corsOrigins(read: EnvironmentReader): string[] {
  const origins = read.list('CORS_ORIGINS');
  const [problem] = origins.flatMap(originProblem);
  const expected = 'origins such as https://app.example.org, comma-separated';
  return problem ? read.reject('CORS_ORIGINS', `${expected}, ${problem}`, []) : origins;
}

/** Returns what is wrong with an origin. The text does not contain a password. */
function originProblem(text: string): string[] {
  if (text.includes('*')) return ['without a wildcard (*): list each origin with its port'];
  const url = /^https?:/i.test(text) && URL.canParse(text) && new URL(text);
  if (!url) return ['each an address with http:// or https://'];
  if (url.origin === text) return [];
  const hasPath = /[^/:]\//.test(text);
  return [
    `${hasPath ? 'without a slash or path at the end' : 'written as browsers send them'}: ${url.origin}`,
  ];
}
