import {
  EntityNotFoundError,
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import {
  ConnectionFailedError,
  DatabaseQueueFullError,
} from '../../../src/platform/database/pools/bounded-pool.js';
import { translateDatabaseError } from '../../../src/platform/database/database-errors.js';

/** An error as pg throws it. */
const withCode = (code: string): Error => Object.assign(new Error('failed'), { code });
const wrapped = (error: Error) => new QueryFailedError('SELECT 1', [], error);

const TEMPORARY = [
  'ECONNRESET',
  'EHOSTUNREACH',
  'ENETDOWN',
  'EPIPE',
  'ETIMEDOUT',
  '08006',
  '25006',
  '28P01',
  '40001',
  '40P01',
  '53300',
  '53100',
  '55P03',
  '57014',
  '57P01',
  '57P03',
  '58030',
];
const OUT_OF_RANGE =
  'A value of the request is invalid, out of range, too long, or contains NUL or a lone surrogate.';
const OVERLOADED = 'The service is overloaded. Try again later.';

test.each<[result: object | undefined, errors: unknown[]]>([
  [
    { code: 'service_unavailable', status: 503 },
    [
      ...TEMPORARY.map(withCode),
      // As PgBouncer rejects a connection.
      Object.assign(withCode('08P01'), { severity: 'FATAL' }),
      new Error('Connection terminated unexpectedly'),
      new Error('Client has encountered a connection error and is not queryable'),
      new Error('Client was closed and is not queryable'),
      new QueryRunnerProviderAlreadyReleasedError(),
      new QueryRunnerAlreadyReleasedError(),
      ...['ECONNREFUSED', '3D000', 'ERR_TLS_CERT_ALTNAME_INVALID', ''].map(
        (code) => new ConnectionFailedError(withCode(code)),
      ),
    ],
  ],
  [
    { code: 'service_unavailable', status: 503, message: OVERLOADED },
    [new DatabaseQueueFullError(5)],
  ],
  [
    { code: 'invalid_request', status: 400, message: OUT_OF_RANGE },
    ['22003', '22021', '22P05', '22001'].map(withCode),
  ],
  [{ code: 'conflict', status: 409 }, ['23503', '23001'].map(withCode)],
  [{ code: 'not_found', status: 404 }, [new EntityNotFoundError('Toy', { id: 1 })]],
  [
    undefined,
    [
      ...['55000', '3D000', '23505', '42601', '42P01', 'XX000', 'ERR_INVALID_ARG_TYPE'].map(
        withCode,
      ),
      ...['22P02', '22007', '22008'].map(withCode),
      // More than 65,535 parameters.
      Object.assign(withCode('08P01'), { severity: 'ERROR' }),
      new Error('no Connection terminated'),
    ],
  ],
])('an error of the database is translated to %j', (expected, errors) => {
  for (const error of errors) {
    for (const thrown of [error, wrapped(error as Error)]) {
      // TypeORM wraps only errors of pg.
      if (thrown !== error && (error as Error).constructor !== Error) continue;
      if (expected === undefined) expect(translateDatabaseError(thrown)).toBeUndefined();
      else expect(translateDatabaseError(thrown)).toMatchObject(expected);
    }
  }
});

test.each([
  ['PostgreSQL, in any language', '53300', 'désolé, trop de clients sont déjà connectés'],
  ['PgBouncer', '08P01', 'no more connections allowed (max_client_conn)'],
  ['a pooler of Supabase', 'XX000', 'MaxClientsInSessionMode: max clients reached'],
])('%s allows no further connection › the message says what to change', (_title, code, text) => {
  const { message } = new ConnectionFailedError(Object.assign(new Error(text), { code }));
  expect(message).toMatch(/^The database allows no further connection\. Lower DATABASE_POOL_SIZE /);
  expect(message).toContain(text);
});
