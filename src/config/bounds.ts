import type { EnvironmentReader } from './environment-reader.js';

/** How much callers can make the service hold. */
export interface Bounds {
  /** Client connections; undefined: as many as the limit of open files allows. */
  readonly maxConnections: number | undefined;
  /** Connections of one client address; undefined: half of all. */
  readonly maxConnectionsPerAddress: number | undefined;
  /** Requests of one connection that are in progress or whose responses are not sent yet. */
  readonly maxRequestsPerConnection: number;
  /** Requests in progress, over all connections. */
  readonly maxRequestsInProgress: number;
  /** Of these, requests that are not known to have a valid API key. */
  readonly maxUnauthenticatedRequests: number;
  /** Bytes of responses that clients have not read yet, over all connections. */
  readonly maxUnsentBytes: number;
  /** Request bodies that are decompressed at the same time. */
  readonly maxDecompressions: number;
}

const MEBIBYTE = 1_048_576;

/** Reads the bounds from their settings. @throws SettingError */
export function readBounds(read: EnvironmentReader): Bounds {
  const maxRequestsInProgress = read.integer('MAX_REQUESTS_IN_PROGRESS', {
    min: 1,
    max: 100_000,
    fallback: 500,
  });
  return {
    maxConnections: optionalCount(read, 'MAX_CONNECTIONS'),
    maxConnectionsPerAddress: optionalCount(read, 'MAX_CONNECTIONS_PER_ADDRESS'),
    maxRequestsPerConnection: read.integer('MAX_REQUESTS_PER_CONNECTION', {
      min: 1,
      max: 1_000,
      fallback: 16,
    }),
    maxRequestsInProgress,
    maxUnauthenticatedRequests: read.integer('MAX_UNAUTHENTICATED_REQUESTS', {
      min: 1,
      max: 100_000,
      fallback: Math.ceil(maxRequestsInProgress / 2),
    }),
    maxUnsentBytes:
      MEBIBYTE * read.integer('MAX_UNSENT_MEBIBYTES', { min: 1, max: 65_536, fallback: 64 }),
    maxDecompressions: read.integer('MAX_DECOMPRESSIONS', { min: 1, max: 64, fallback: 2 }),
  };
}

function optionalCount(read: EnvironmentReader, name: string): number | undefined {
  if (read.text(name) === undefined) return undefined;
  return read.integer(name, { min: 1, max: 1_000_000, fallback: 1 });
}
