import type { BeforeQueryEvent, EntitySubscriberInterface } from 'typeorm';
import { isUnavailable } from '../database/database-errors.js';
import { ConnectionFailedError } from '../database/pools/bounded-pool.js';
import { describeCause } from '../errors/error-details.js';

/** What a command does to the database, in one transaction. */
export type Effect = 'added' | 'changed' | 'removed';

/** Observes whether a command has sent a COMMIT. */
export class CommitObserver implements EntitySubscriberInterface {
  isCommitSent = false;

  beforeQuery({ query }: BeforeQueryEvent): void {
    this.isCommitSent ||= query === 'COMMIT';
  }
}

const AGAIN = ' Run the command again.';
const LOCKED = 'Another transaction has locked a row or a table that the command needs.';

/** What SQLSTATEs mean. */
const REASONS: Readonly<Record<string, string>> = {
  '25006': 'The database is read-only.',
  '40001': LOCKED,
  '40P01': LOCKED,
  '53100': 'The disk of the database is full.',
  '55P03': LOCKED,
  '57014': 'The database took too long.',
};

/** SQLSTATEs of a lost connection. */
const LOST_STATE = /^(?:08|57P)/;
const STATE = /^[\dA-Z]{5}$/;

/** Whether the connection was lost, so that nobody knows whether a COMMIT in progress has succeeded. */
export function isConnectionLost(error: unknown): boolean {
  const { code = '' } = error as { code?: string };
  return LOST_STATE.test(code) || !STATE.test(code);
}

/**
 * Returns a failure of the database in plain words, with what the command has done, and any other error as it is.
 *
 * @param command that of the product, such as `pets`
 */
export function explainFailure(
  error: unknown,
  {
    effect,
    isCommitSent,
    isEmbedded,
    command,
  }: { effect?: Effect | undefined; isCommitSent: boolean; isEmbedded: boolean; command: string },
): unknown {
  if (!isUnavailable(error)) return error;
  const { code = '', message } = error as Error & { code?: string };
  const isLost = isConnectionLost(error);
  let reason = REASONS[code] ?? 'The database has failed.';
  if (isLost) reason = 'The connection to the database was lost.';
  const isRejected = error instanceof ConnectionFailedError && !isEmbedded;
  if (isRejected) reason = effect ? `${message.replace(/\.$/, '')}.` : message;
  if (isLost && isEmbedded) reason = 'The embedded database was stopped or has failed.';
  const isShown = !reason.includes(message) && !(isLost && isEmbedded) && reason !== LOCKED;
  const detail = isShown ? ` (${describeCause(error)})` : '';
  let outcome = effect ? ` Nothing was ${effect}.` : '';
  if (effect && isCommitSent && isLost) {
    outcome = ` It is not known whether all was ${effect}, or nothing: \`${command} audit list\` shows the change if it was stored.`;
  } else if (reason === LOCKED || (isLost && !isRejected)) outcome += AGAIN;
  return new Error(`${reason}${outcome}${detail}`, { cause: error });
}
