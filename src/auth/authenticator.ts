import type { IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { Clock } from '../config/clock.js';
import type { AnonymousCaller, Caller } from './caller.js';
import { KeyDirectory } from './key-directory.js';
import { hashKey, hasKeyForm } from './key-format.js';
import { isUsable, type KnownKey } from './known-key.js';
import { LastUsed } from './last-used.js';

/** RFC 6750, 2.1; the scheme is case-insensitive (RFC 9110, 11.1). */
const SCHEME = /^bearer(?: +|$)/i;

/** Tells who makes a request. */
@Injectable()
export class Authenticator {
  constructor(
    private readonly directory: KeyDirectory,
    private readonly lastUsed: LastUsed,
    private readonly clock: Clock,
  ) {}

  /** Returns who makes a request where that can be told without waiting, else undefined. */
  recall(request: Pick<IncomingMessage, 'headers'>): Caller | undefined {
    const token = bearerToken(request);
    if (!token) return anonymous('missing');
    if (!hasKeyForm(token)) return anonymous('invalid');
    const recalled = this.directory.recall(hashKey(token));
    return recalled && this.caller(recalled);
  }

  /**
   * Returns who makes a request that `recall` cannot tell. Never rejects: a caller that cannot be told is
   * an anonymous one, with the reason.
   *
   * @param mayLookUp asked before a key that is not known costs a query
   */
  async lookUp(
    request: Pick<IncomingMessage, 'headers'>,
    mayLookUp: () => Promise<boolean>,
  ): Promise<Caller> {
    const hash = hashKey(bearerToken(request));
    if (!this.directory.isKnown(hash) && !(await mayLookUp())) return anonymous('unverified');
    try {
      return this.caller(await this.directory.find(hash));
    } catch (cause) {
      return { ...anonymous('unavailable'), cause };
    }
  }

  private caller(key: KnownKey | null): Caller {
    const nowMs = this.clock.now();
    if (!key || !isUsable(key, nowMs)) return anonymous('invalid');
    this.lastUsed.note(key.id, nowMs);
    return { kind: 'key', key };
  }
}

/** Returns what follows the scheme, '' when nothing does or another scheme is used. */
function bearerToken({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const { authorization = '' } = headers;
  const scheme = SCHEME.exec(authorization)?.[0];
  return scheme === undefined ? '' : authorization.slice(scheme.length);
}

function anonymous(reason: AnonymousCaller['reason']): AnonymousCaller {
  return { kind: 'anonymous', reason };
}
