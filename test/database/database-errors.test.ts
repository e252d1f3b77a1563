import {
  EntityNotFoundError,
  QueryFailedError,
  QueryRunnerAlreadyReleasedError,
  QueryRunnerProviderAlreadyReleasedError,
} from 'typeorm';
import {
  ConnectionFailedError,
  DatabaseQueueFullError,
} from '../../src/platform/database/pools/bounded-pool.js';
import {
  DatabaseErrors,
  isUnavailable,
  violatedConstraint,
} from '../../src/platform/database/database-errors.js';

/** An error as pg throws it. */
const failure = (members: object, message = 'failed') => Object.assign(new Error(message), members);
const withCode = (code: string): Error => failure({ code });
const withMessage = (message: string): Error => failure({}, message);
const wrapped = (error: Error) => new QueryFailedError('SELECT 1', [], error);
const notConnected = (code: string) => new ConnectionFailedError(withCode(code));

describe('isUnavailable', () => {
  const codes = [
    ...['ECONNRESET', 'EHOSTDOWN', 'EHOSTUNREACH', 'ENETDOWN', 'ENETUNREACH', 'EPIPE', 'ETIMEDOUT'],
    ...['08006', '25006', '28P01', '40001', '40P01', '53300', '53100', '55P03', '57014', '57P01'],
    ...['57P03', '58030'],
  ];
  const messages = [
    'Connection terminated',
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Client has encountered a connection error and is not queryable',
    'Client was closed and is not queryable',
  ];

  it.each<readonly [string, Error]>([
    ...codes.map((code) => [code, withCode(code)] as const),
    ...messages.map((message) => [message, withMessage(message)] as const),
    ['a connection that broke in a transaction', new QueryRunnerProviderAlreadyReleasedError()],
    ['a connection that broke before the commit', new QueryRunnerAlreadyReleasedError()],
    ...['ECONNREFUSED', '55000', '3D000', 'ERR_TLS_CERT_ALTNAME_INVALID', ''].map(
      (code) => [`no connection: ${code}`, notConnected(code)] as const,
    ),
  ])('holds for what passes: %s', (_what, error) => {
    expect([isUnavailable(error), isUnavailable(wrapped(error))]).toEqual([true, true]);
  });

  it.each<unknown>([
    ...['55000', '3D000', '22003', '22P02', '23505', '42601', '42703', '42P01'].map(withCode),
    ...['XX000', 'ERR_INVALID_ARG_TYPE'].map(withCode),
    ...['Cannot read properties of undefined', 'no Connection terminated'].map(withMessage),
    ...['ECONNREFUSED', undefined],
  ])('does not hold for a defect: %p', (error) => {
    expect(isUnavailable(error)).toBe(false);
  });
});

describe('violatedConstraint', () => {
  it.each(['23505', '23503', '23514'])('is the name that %s comes with', (code) => {
    const error = failure({ code, constraint: 'pets_pkey' });
    expect([error, wrapped(error)].map(violatedConstraint)).toEqual(['pets_pkey', 'pets_pkey']);
  });

  it.each([
    failure({ code: '42601', constraint: 'pets_pkey' }),
    failure({ constraint: 'pets_pkey' }),
    undefined,
  ])('is none of %p', (error) => {
    expect(violatedConstraint(error)).toBeUndefined();
  });
});

const OUT_OF_RANGE =
  'A value of the request is invalid, out of range, too long, or contains NUL or a lone surrogate.';

test.each<[string, unknown, object]>([
  [
    'a full queue for connections is 503',
    new DatabaseQueueFullError(5),
    {
      code: 'service_unavailable',
      status: 503,
      message: 'The service is overloaded. Try again later.',
    },
  ],
  ...['22003', '22021', '22P02', '22P05', '22001'].map((code): [string, unknown, object] => [
    `SQLSTATE ${code}, a value that PostgreSQL cannot store, is 400`,
    wrapped(withCode(code)),
    { code: 'invalid_request', status: 400, message: OUT_OF_RANGE },
  ]),
  [
    'a row that findOneOrFail() does not find is 404',
    new EntityNotFoundError('Toy', { id: 1 }),
    { code: 'not_found', status: 404 },
  ],
])('%s', (_title, error, expected) => {
  expect(new DatabaseErrors().translate(error)).toMatchObject(expected);
});

test('another error of a statement is a defect', () => {
  expect(new DatabaseErrors().translate(wrapped(withCode('42601')))).toBeUndefined();
});
