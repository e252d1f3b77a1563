import type { ClientConfig } from 'pg';
import { SECOND_MS } from './clock.js';

/** Parameters of libpq that concern the session, and the values that can be kept. */
const ACCEPTED = new Map<string, RegExp>(
  Object.entries({
    application_name: /./,
    channel_binding: /^(?:disable|prefer|require)$/,
    connect_timeout: /^-?\d{1,6}$/,
    keepalives: /^[01]$/,
    keepalives_idle: /^\d{1,6}$/,
    target_session_attrs: /^(?:any|read-write|primary)$/,
  }),
);

/** Servers that accept no writes. */
const READ_ONLY_TARGET = /^(?:read-only|standby|prefer-standby)$/;

/** Options of sockets that Node.js does not have. */
const NOT_IN_NODE = /^(?:keepalives_(?:interval|count)|tcp_user_timeout)$/;

/** What the parameters of an address require of a session, in addition to pg's configuration. */
export interface SessionConfig extends ClientConfig {
  /** Connections that fail open no later than this. */
  connectTimeoutMs?: number;
  /** Whether a connection without channel binding is closed before the password is sent. */
  requiresChannelBinding?: boolean;
  /** Connections to other servers fail: to those that accept no writes, or to standbys. */
  targetSession?: 'read-write' | 'primary';
}

/**
 * Returns the configuration for the parameters of an address that concern the session.
 *
 * @param parameters of the address, by name. Those that are not listed above are ignored
 * @throws Error with the reason, if one cannot be kept
 */
export function readSessionParameters(parameters: Readonly<Record<string, unknown>>) {
  for (const [name, given] of Object.entries(parameters)) {
    if (NOT_IN_NODE.test(name)) throw new Error(`Node.js cannot set ${name}, remove it`);
    if (ACCEPTED.get(name)?.test(String(given)) ?? true) continue;
    const reason = READ_ONLY_TARGET.test(String(given)) ? ', because the service writes' : '';
    throw new Error(`${name} cannot be ${/^[\w-]*$/.exec(String(given))?.[0] ?? 'this'}${reason}`);
  }
  const { channel_binding: binding, target_session_attrs: target } = parameters;
  const connectTimeoutMs = Number(parameters['connect_timeout'] ?? 0) * SECOND_MS;
  const idleMs = Number(parameters['keepalives_idle'] ?? 0) * SECOND_MS;
  return {
    ...(parameters['keepalives'] === '0' && { keepAlive: false }),
    ...(idleMs > 0 && { keepAliveInitialDelayMillis: idleMs }),
    ...(connectTimeoutMs > 0 && { connectTimeoutMs }),
    ...(binding !== undefined && { enableChannelBinding: binding !== 'disable' }),
    ...(binding === 'require' && { requiresChannelBinding: true }),
    ...((target === 'read-write' || target === 'primary') && { targetSession: target }),
  } satisfies SessionConfig;
}

/** Whether a parameter of an address concerns the session. */
export const isSessionParameter = (name: string): boolean =>
  ACCEPTED.has(name) || NOT_IN_NODE.test(name);
