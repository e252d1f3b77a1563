import { APPLICATION_NAMES } from '../pools/client-config.js';
import type { StatementRunner } from '../sql.js';

/** The advisory lock of all running services. The number is arbitrary. */
const SERVICE_LOCK = 7_236_114_902n;

/**
 * Marks the session as one of a running service until it ends. Waits while a revert is in progress.
 * A connection pooler or the URL of the database may replace the name in pg_stat_activity.
 */
export const MARK_SERVICE_SESSION = `SELECT pg_advisory_lock_shared(${SERVICE_LOCK})`;

/** Without pg_read_all_stats, a role sees no addresses of other roles' sessions. */
const COUNT_SERVICE_SESSIONS = `
  SELECT usename AS role, host(client_addr) AS address, client_port = -1 AS local, count(*)::int AS sessions
    FROM pg_stat_activity
   WHERE datname = current_database() AND pid <> pg_backend_pid()
     AND (application_name ~ '^pets( |$)' AND application_name <> ALL ($1::text[])
          OR pid IN (SELECT pid FROM pg_locks
                      WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                        AND (classid::bigint << 32 | objid::bigint) = $2))
   GROUP BY 1, 2, 3
   ORDER BY 1, 2`;

interface SessionCount {
  role: string;
  address: string | null;
  local: boolean | null;
  sessions: number;
}

/**
 * Keeps the service away from the database until the transaction ends: a service that starts waits.
 *
 * @throws Error with one line that names the connections when a service is connected
 */
export async function excludeService(transaction: Pick<StatementRunner, 'query'>): Promise<void> {
  const [{ excluded }] = await transaction.query<[{ excluded: boolean }]>(
    'SELECT pg_try_advisory_xact_lock($1) AS excluded',
    [SERVICE_LOCK],
  );
  const counts = await transaction.query<SessionCount[]>(COUNT_SERVICE_SESSIONS, [
    [APPLICATION_NAMES.commands, APPLICATION_NAMES.migrations],
    SERVICE_LOCK,
  ]);
  if (excluded && counts.length === 0) return;
  const found = counts.map(describeCount).join(', ') || 'its lock is held';
  throw new Error(`The service uses the database (${found}). Stop the service first.`);
}

function describeCount({ role, address, local, sessions }: SessionCount): string {
  const connections = `${sessions} ${sessions === 1 ? 'connection' : 'connections'}`;
  if (address !== null) return `${connections} from ${address}`;
  return `${connections} ${local ? 'over a local socket' : `of role ${role}`}`;
}
