import { readFileSync } from 'node:fs';
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

/**
 * Open files of the service in addition to its clients and the database pool. About 25 are always open, and
 * connections to METRICS_PORT, to the nodes of Redis, and files of the documentation need the others.
 */
const OWN_FILES = 200;

/** Limits on the resources that callers can occupy. */
export type Bounds = Readonly<ReturnType<typeof readBounds>>;

/** @param poolSize the connections to the database */
export function readBounds(read: EnvironmentReader, poolSize: number) {
  const maxConnections = read.integer('MAX_CONNECTIONS', 10_000, CONNECTIONS);
  const openFiles = readOpenFilesLimit();
  const possibleConnections = Math.max(1, openFiles - OWN_FILES - poolSize);
  if (openFiles <= OWN_FILES + poolSize) {
    const expected = `more than ${OWN_FILES + poolSize} open files (ulimit -n), but the limit is ${openFiles}`;
    read.reject('DATABASE_POOL_SIZE', expected);
  }
  // A connection has one request in progress. A limit above another one would never apply.
  const requests = Math.min(1_000, maxConnections, possibleConnections);
  const maxRequestsInProgress = read.integer('MAX_REQUESTS_IN_PROGRESS', requests, REQUESTS);
  if (read.text('MAX_CONNECTIONS') && maxRequestsInProgress > maxConnections)
    read.reject('MAX_REQUESTS_IN_PROGRESS', 'at most MAX_CONNECTIONS');
  const half = Math.ceil(maxRequestsInProgress / 2);
  const maxUnauthenticatedRequests = read.integer('MAX_UNAUTHENTICATED_REQUESTS', half, REQUESTS);
  if (maxUnauthenticatedRequests > maxRequestsInProgress)
    read.reject('MAX_UNAUTHENTICATED_REQUESTS', 'at most MAX_REQUESTS_IN_PROGRESS');
  const mebibytes = (name: string, fallback: number, max: number) =>
    read.integer(name, fallback, { min: 1, max }) * 1_048_576;
  const wantedConnections = Math.max(maxConnections, maxRequestsInProgress);
  return {
    /** The limit of open files of the process. Infinity: none, or the system does not show it. */
    openFiles,
    /** Client connections by the settings. */
    wantedConnections,
    /** Client connections, as many as the limit of open files allows. */
    maxConnections: Math.min(wantedConnections, possibleConnections),
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

/** Over this limit, Node.js closes new connections itself, and reports it to nobody. */
export function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8');
    // The first number is the soft limit, which Node.js has raised to the hard limit.
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity);
  } catch {
    // Only Linux has this file. Other systems allow more open files than the service needs.
    return Infinity;
  }
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
