import type { EnvironmentReader } from './environment-reader.js';

/** The largest JSON body. */
export const MAX_BODY_BYTES = 102_400;
/** The most members and elements in it. */
export const MAX_BODY_VALUES = 10_000;
/** The head of a request: its request line and its headers. */
export const MAX_HEAD_BYTES = 8_192;
export const MAX_HEADERS = 100;

const CONNECTIONS = { min: 1, max: 1_000_000 };
const REQUESTS = { min: 1, max: 100_000 };
const PER_MINUTE = { min: 1, max: 1_000_000_000 };

/** Limits on the resources that callers can occupy. */
export type Bounds = Readonly<ReturnType<typeof readBounds>>;

export function readBounds(read: EnvironmentReader) {
  const maxConnections = read.integer('MAX_CONNECTIONS', 10_000, CONNECTIONS);
  // A connection has one request in progress. A limit above another one would never apply.
  const requests = Math.min(1_000, maxConnections);
  const maxRequestsInProgress = read.integer('MAX_REQUESTS_IN_PROGRESS', requests, REQUESTS);
  if (read.text('MAX_CONNECTIONS') && maxRequestsInProgress > maxConnections)
    read.reject('MAX_REQUESTS_IN_PROGRESS', 'at most MAX_CONNECTIONS');
  const half = Math.ceil(maxRequestsInProgress / 2);
  const maxUnauthenticatedRequests = read.integer('MAX_UNAUTHENTICATED_REQUESTS', half, REQUESTS);
  if (maxUnauthenticatedRequests > maxRequestsInProgress)
    read.reject('MAX_UNAUTHENTICATED_REQUESTS', 'at most MAX_REQUESTS_IN_PROGRESS');
  const mebibytes = (name: string, fallback: number, max: number) =>
    read.integer(name, fallback, { min: 1, max }) * 1_048_576;
  return {
    /** Client connections, if the limit of open files allows as many. */
    maxConnections: Math.max(maxConnections, maxRequestsInProgress),
    /** Requests in progress, over all connections. */
    maxRequestsInProgress,
    /** With as many requests in progress, further ones without a valid API key are rejected. */
    maxUnauthenticatedRequests,
    /** Bytes of unread responses to clients that read nothing at present, over all connections. */
    maxUnsentBytes: mebibytes('MAX_UNSENT_MEBIBYTES', 64, 65_536),
    /** Bytes of request bodies that have arrived in part, over all connections. */
    maxArrivingBytes: mebibytes('MAX_ARRIVING_MEBIBYTES', 32, 65_536),
    /** The body of an upload. */
    maxUploadBytes: mebibytes('MAX_UPLOAD_MEBIBYTES', 10, 1_024),
    /** API keys in the cache. */
    maxCachedKeys: read.integer('KEY_CACHE_SIZE', 100_000, { min: 1, max: 10_000_000 }),
  };
}

/** Limits on the requests of a caller, in addition to the plans. */
export function readLimits(read: EnvironmentReader) {
  return {
    /** Requests per minute and client address without a valid API key. */
    anonymousRequestsPerMinute: read.integer('ANONYMOUS_REQUESTS_PER_MINUTE', 300, PER_MINUTE),
    /** Rejected requests per minute that ban a key; undefined: the plan's limit; 0: never ban. */
    banAfterRejections: read.text('BAN_AFTER_REJECTIONS')
      ? read.integer('BAN_AFTER_REJECTIONS', 0, { ...PER_MINUTE, min: 0 })
      : undefined,
    /** How long a ban lasts. 0: never ban. */
    banMs: read.seconds('BAN_SECONDS', 300, { min: 0, max: 31_536_000 }),
  };
}
