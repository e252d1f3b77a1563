import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import { databaseUnavailable, serviceUnavailable } from '../errors/service-error.js';
import type { Identification, KeyState } from '../http/request/caller.js';
import type { Request } from '../http/request/request.js';
import type { RequestState } from '../http/request/request-state.js';
import { IssuedKeys } from './key-cache/issued-keys.js';
import { KeyCache } from './key-cache/key-cache.js';
import { hashKey } from './key-format.js';
import { KeyUsage } from './usage/key-usage.js';

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const SCHEME = /^bearer(?: +|$)/i;

const MISSING: Identification = { kind: 'anonymous', reason: 'missing' };
const INVALID: Identification = { kind: 'anonymous', reason: 'invalid' };

/** Identifies the caller of a request. */
@Injectable()
export class Authenticator {
  constructor(
    private readonly cache: KeyCache,
    private readonly issuedKeys: IssuedKeys,
    private readonly clock: Clock,
    private readonly usage: KeyUsage,
  ) {}

  /**
   * Returns whether the API key of the request may be valid, without a query: its cached state is valid or,
   * without one, the store has issued it.
   */
  mayHaveValidKey(request: Request): boolean {
    const hash = this.issuedHash(request);
    const key = this.cache.peek(hash);
    return key ? isUsable(key, this.clock.now()) : hash !== '';
  }

  /**
   * Returns the caller of a request, which the first call identifies. Without a valid API key, or if its state
   * cannot be read, the caller is anonymous.
   */
  identify(request: Request): Promise<Identification> {
    const { caller } = request.state;
    return caller ? Promise.resolve(caller) : this.identifyAgain(request);
  }

  /**
   * Identifies the caller again, by a state of its API key that is at most four seconds old, or ten minutes
   * while the database is unreachable.
   */
  async identifyAgain(request: Request): Promise<Identification> {
    const hash = this.issuedHash(request);
    const caller = hash === '' ? unknownCaller(request) : await this.callerOf(hash);
    // A lookup that fails says nothing about the caller of a request that is in progress.
    if (caller.reason !== 'unavailable' || !request.state.caller) request.state.caller = caller;
    return caller;
  }

  private async callerOf(hash: string): Promise<Identification> {
    try {
      return this.callerWith(this.cache.getFresh(hash) ?? (await this.cache.get(hash)));
    } catch (cause) {
      return { kind: 'anonymous', reason: 'unavailable', failure: databaseUnavailable(cause) };
    }
  }

  /** Returns the SHA-256 of the request's API key, '' without one that the store has issued. */
  private issuedHash(request: Request): string {
    request.state.keyHash ??= this.readHash(bearerToken(request));
    return request.state.keyHash;
  }

  private readHash(token: string): string {
    if (!this.issuedKeys.hasForm(token)) return '';
    const hash = hashKey(token);
    const isIssued = this.cache.peek(hash) !== undefined || this.issuedKeys.has(token, hash);
    return isIssued ? hash : '';
  }

  private callerWith(key: KeyState | null): Identification {
    if (!key) return INVALID;
    if (!isUsable(key, this.clock.now()))
      return { kind: 'anonymous', reason: 'invalid', rejectedKey: key };
    if (key.planFailure) {
      const failure = serviceUnavailable(key.planFailure);
      return { kind: 'anonymous', reason: 'unavailable', rejectedKey: key, failure };
    }
    this.usage.noteUse(key);
    return { kind: 'key', key };
  }
}

function isUsable({ revoked, expiresAtMs }: KeyState, nowMs: number): boolean {
  return !revoked && (expiresAtMs === undefined || nowMs < expiresAtMs);
}

function unknownCaller(request: Request): Identification {
  return bearerToken(request) === '' ? MISSING : INVALID;
}

/** Returns the token after the scheme, or '' if there is none or the scheme is different. */
function bearerToken({ headers: { authorization = '' } }: Request): string {
  const scheme = SCHEME.exec(authorization)?.[0];
  return scheme === undefined ? '' : authorization.slice(scheme.length);
}

/** Returns the owner and the API key of a request, as the log shows them. */
export function loggedCaller({ caller }: RequestState) {
  const key = caller?.kind === 'key' ? caller.key : caller?.rejectedKey;
  return key && { ownerId: key.ownerId.toString(), keyId: key.keyId.toString() };
}
