import { hostname, userInfo } from 'node:os';
import { Injectable } from '@nestjs/common';
import { parse, parseNumberAndBigInt, stringify } from 'lossless-json';
import { EntityManager } from 'typeorm';
import { queryRows, type StatementRunner } from '../../database/sql.js';

const RECORD = 'INSERT INTO operator_actions (actor, action, details) VALUES ($1, $2, $3::jsonb)';

const LIST = `
  SELECT id, performed_at AS "performedAt", actor, action, details ->> 'owner' AS owner,
         details::text AS details
    FROM operator_actions
   WHERE ($1::bigint IS NULL OR (details ->> 'ownerId')::bigint = $1)
     AND ($2::bigint IS NULL OR id < $2)
     AND ($3::timestamptz IS NULL OR performed_at >= $3)
     AND ($4::timestamptz IS NULL OR performed_at < $4)
     AND ($5::text IS NULL OR $5 IN (actor, split_part(actor, '@', 1)))
     AND ($6::text IS NULL OR $6 IN (action, split_part(action, ' ', 1)))
     AND ($7::jsonb IS NULL
          OR coalesce(details -> 'ids' @> $7, $7 BETWEEN details -> 'firstId' AND details -> 'lastId'))
   ORDER BY id DESC LIMIT $8`;

/** Selects changes. A condition that is null or omitted selects all. */
export interface ActionSelection {
  /** Only those of this owner and its API keys. */
  ownerId: bigint | null;
  /** Only those that the list has after this one. */
  after?: bigint;
  since?: Date;
  /** Exclusive. */
  until?: Date;
  /** Such as `ann@host`, or only the user. */
  actor?: string;
  /** Such as `keys revoke`, or only the first word. */
  action?: string;
  /** Only those of the row with this id. An import records only its first and its last id. */
  id?: bigint;
  limit: number;
}

/**
 * Returns the audit trail, the newest change first. In SQL, because TypeORM rounds an int64 in JSON.
 * Times are text, because tables show dates as days.
 */
export async function listActions(
  database: StatementRunner,
  { ownerId, after, since, until, actor, action, id, limit }: ActionSelection,
) {
  const values = [ownerId, after, since, until, actor, action, id, limit];
  const rows = await queryRows<{
    id: bigint;
    performedAt: Date;
    actor: string;
    action: string;
    owner: string | null;
    details: string;
  }>(
    database,
    LIST,
    values.map((value) => value ?? null),
  );
  return rows.map((row) => {
    return {
      ...row,
      performedAt: row.performedAt.toISOString(),
      details: exact(row.details) as Record<string, unknown>,
    };
  });
}

const FIND = `
  SELECT performed_at AS "performedAt", actor, details::text AS details FROM operator_actions
   WHERE action = $1 AND details @> $2::jsonb ORDER BY id DESC LIMIT 1`;

const exact = (text: string) => parse(text, null, parseNumberAndBigInt);

/**
 * Records a change by the user and host of this process, as `user@host`.
 *
 * @param action the command, such as `db migrate`
 */
export async function recordAction(
  database: StatementRunner,
  action: string,
  details: object,
): Promise<void> {
  const actor = `${userName()}@${hostname()}`;
  await queryRows(database, RECORD, [actor, action, stringify(details)]);
}

/** The audit trail: what operators changed. */
@Injectable()
export class AuditTrail {
  constructor(private readonly manager: EntityManager) {}

  /**
   * Records a change, in the open transaction if there is one.
   *
   * @param action the command, such as `orders cancel`
   * @param details identifiers of what was changed. The trail is kept, so it holds no personal data
   */
  record(action: string, details: object): Promise<void> {
    return recordAction(this.manager, action, details);
  }

  /** Returns the newest record of an action that has these details, or null. */
  async find(action: string, details: object) {
    const values = [action, stringify(details)];
    const [found] = await queryRows<{ performedAt: Date; actor: string; details: string }>(
      this.manager,
      FIND,
      values,
    );
    return found ? { ...found, details: exact(found.details) as Record<string, unknown> } : null;
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // In a container, the user's number may have no name.
    return `uid ${process.getuid?.() ?? 'unknown'}`;
  }
}
