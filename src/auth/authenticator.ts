import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import type { LoggedCaller } from '../http/request/access-log.js';
import type { Request } from '../http/request/request.js';
import type { CachedKey } from './cached-key.js';
import type { Caller } from './caller.js';
import { KeyCache } from './key-cache/key-cache.js';
import { hashKey, hasKeyForm } from './key-format.js';
import { LastUsed } from './last-used.js';

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const SCHEME = /^bearer(?: +|$)/i;

/** Identifies the caller of a request. */
@Injectable()
export class Authenticator {
  constructor(
    private readonly cache: KeyCache,
    private readonly lastUsed: LastUsed,
    private readonly clock: Clock,
  ) {}

  /** Whether the cached state of the request's API key is valid. Has no side effects. */
  hasCachedKey(request: IncomingMessage): boolean {
    const token = bearerToken(request);
    const key = hasKeyForm(token) ? this.cache.peek(hashKey(token)) : undefined;
    return key !== undefined && isUsable(key, this.clock.now());
  }

  /**
   * Returns the caller of a request. Never rejects: an unidentified caller is anonymous.
   *
   * @param reserveLookup returns whether a lookup of an API key that is not in the cache may run
   */
  async identify(
    request: IncomingMessage,
    reserveLookup: (hash: string) => Promise<boolean>,
  ): Promise<Caller> {
    const token = bearerToken(request);
    if (!token) return { kind: 'anonymous', reason: 'missing' };
    if (!hasKeyForm(token)) return { kind: 'anonymous', reason: 'invalid' };
    const hash = hashKey(token);
    if (this.cache.needsLookup(hash) && !(await reserveLookup(hash)))
      return { kind: 'anonymous', reason: 'unverified' };
    let key: CachedKey | null;
    try {
      key = await this.cache.get(hash);
    } catch (cause) {
      return { kind: 'anonymous', reason: 'unavailable', cause };
    }
    const nowMs = this.clock.now();
    if (!key) return { kind: 'anonymous', reason: 'invalid' };
    if (!isUsable(key, nowMs)) return { kind: 'anonymous', reason: 'invalid', rejectedKey: key };
    this.lastUsed.note(key.id, nowMs);
    return { kind: 'key', key };
  }
}

function isUsable({ revoked, expiresAtMs }: CachedKey, nowMs: number): boolean {
  return !revoked && (expiresAtMs === undefined || nowMs < expiresAtMs);
}

/** Returns the token after the scheme, or '' if there is none or the scheme is different. */
function bearerToken({ headers: { authorization = '' } }: IncomingMessage): string {
  const scheme = SCHEME.exec(authorization)?.[0];
  return scheme === undefined ? '' : authorization.slice(scheme.length);
}

/** Returns the owner and the API key of a request, as the log shows them. */
export function loggedCaller({ caller }: Request): LoggedCaller | undefined {
  const key = caller?.kind === 'key' ? caller.key : caller?.rejectedKey;
  return key && { ownerId: key.ownerId.toString(), keyId: key.id.toString() };
}
