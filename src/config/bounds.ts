import type { EnvironmentReader } from './environment-reader.js';

/** Limits on the resources that callers can occupy. */
export interface Bounds {
  /** Client connections; undefined: as many as the limit of open files allows. */
  readonly maxConnections: number | undefined;
  /** Connections of one client address; undefined: half of all. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** Requests of one connection whose response is not completely sent. */
  readonly maxRequestsPerConnection: number;
  /** Requests in progress, over all connections. */
  readonly maxRequestsInProgress: number;
  /** Requests in progress without a valid API key, or whose API key is not checked yet. */
  readonly maxUnauthenticatedRequests: number;
  /** Bytes of unread responses to clients that read nothing at present, over all connections. */
  readonly maxUnsentBytes: number;
  /** Request bodies that are decompressed at the same time. */
  readonly maxDecompressions: number;
  /** Documentation downloads in progress. */
  readonly maxDocsDownloads: number;
  /** Lookups of API keys outside the cache that wait for a database connection. */
  readonly maxQueuedKeyLookups: number;
  /** API keys in the cache. */
  readonly maxCachedKeys: number;
}

const BYTES_PER_MEBIBYTE = 1_048_576;
const CONNECTIONS = { min: 1, max: 1_000_000 };

export function readBounds(read: EnvironmentReader): Bounds {
  const maxRequestsInProgress = read.integer('MAX_REQUESTS_IN_PROGRESS', 500, {
    min: 1,
    max: 100_000,
  });
  const maxUnsentMebibytes = read.integer('MAX_UNSENT_MEBIBYTES', 64, { min: 1, max: 65_536 });
  return {
    maxConnections: read.optionalInteger('MAX_CONNECTIONS', CONNECTIONS),
    maxConnectionsPerAddress: read.optionalInteger('MAX_CONNECTIONS_PER_ADDRESS', CONNECTIONS),
    maxRequestsPerConnection: read.integer('MAX_REQUESTS_PER_CONNECTION', 16, {
      min: 1,
      max: 1_000,
    }),
    maxRequestsInProgress,
    maxUnauthenticatedRequests: read.integer(
      'MAX_UNAUTHENTICATED_REQUESTS',
      Math.ceil(maxRequestsInProgress / 2),
      { min: 1, max: 100_000 },
    ),
    maxUnsentBytes: maxUnsentMebibytes * BYTES_PER_MEBIBYTE,
    maxDecompressions: read.integer('MAX_DECOMPRESSIONS', 2, { min: 1, max: 64 }),
    maxDocsDownloads: read.integer('MAX_DOCS_DOWNLOADS', 100, { min: 1, max: 1_000_000 }),
    maxQueuedKeyLookups: read.integer('MAX_QUEUED_KEY_LOOKUPS', 100, { min: 1, max: 100_000 }),
    maxCachedKeys: read.integer('KEY_CACHE_SIZE', 100_000, { min: 1, max: 10_000_000 }),
  };
}
