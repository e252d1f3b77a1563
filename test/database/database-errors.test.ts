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

const wrapped = (error: Error) => new QueryFailedError('SELECT 1', [], error);

describe('isUnavailable', () => {
  const passing: [string, Error][] = [
    ...[
      'ECONNRESET',
      'EHOSTDOWN',
      'EHOSTUNREACH',
      'ENETDOWN',
      'ENETUNREACH',
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
    ].map((code): [string, Error] => [code, failure({ code })]),
    ...[
      'Connection terminated',
      'Connection terminated unexpectedly',
      'Connection terminated due to connection timeout',
      'Client has encountered a connection error and is not queryable',
      'Client was closed and is not queryable',
    ].map((message): [string, Error] => [message, failure({}, message)]),
    ['a connection that broke in a transaction', new QueryRunnerProviderAlreadyReleasedError()],
    ['a connection that broke before the commit', new QueryRunnerAlreadyReleasedError()],
    ...['ECONNREFUSED', '55000', '3D000', 'ERR_TLS_CERT_ALTNAME_INVALID', undefined].map(
      (code): [string, Error] => [
        `a connection that could not be made: ${code}`,
        new ConnectionFailedError(failure({ code })),
      ],
    ),
  ];

  it.each(passing)('holds for what passes: %s', (_what, error) => {
    expect(isUnavailable(error)).toBe(true);
    expect(isUnavailable(wrapped(error))).toBe(true);
  });

  const others: [string, unknown][] = [
    ...[
      '55000',
      '3D000',
      '22003',
      '22P02',
      '23505',
      '42601',
      '42703',
      '42P01',
      'XX000',
      'ERR_INVALID_ARG_TYPE',
    ].map((code): [string, unknown] => [code, failure({ code })]),
    ['another message', failure({}, 'Cannot read properties of undefined')],
    ['a message that contains it', failure({}, 'no Connection terminated')],
    ['no error', 'ECONNREFUSED'],
    ['nothing', undefined],
  ];

  it.each(others)('does not hold for a defect: %s', (_what, error) => {
    expect(isUnavailable(error)).toBe(false);
  });
});

test('a full queue for connections is 503 service_unavailable with Retry-After', () => {
  expect(new DatabaseErrors().translate(new DatabaseQueueFullError(5))).toMatchObject({
    code: 'service_unavailable',
    status: 503,
    message: 'The service is overloaded. Try again later.',
    headers: { 'Retry-After': expect.stringMatching(/^[1-9]\d*$/) as string },
  });
});

describe('violatedConstraint', () => {
  it.each(['23505', '23503', '23514'])('is the name that %s comes with', (code) => {
    const error = failure({ code, constraint: 'pets_pkey' });

    expect(violatedConstraint(error)).toBe('pets_pkey');
    expect(violatedConstraint(wrapped(error))).toBe('pets_pkey');
  });

  it.each([
    ['another error', failure({ code: '42601', constraint: 'pets_pkey' })],
    ['one without a code', failure({ constraint: 'pets_pkey' })],
    ['none', undefined],
  ])('is none of %s', (_what, error) => {
    expect(violatedConstraint(error)).toBeUndefined();
  });
});

describe('an error that a client caused', () => {
  test.each(['22003', '22021', '22P05', '22001'])(
    'SQLSTATE %s, a value that PostgreSQL cannot store, is a 400',
    (code) => {
      expect(new DatabaseErrors().translate(wrapped(failure({ code })))).toMatchObject({
        code: 'invalid_request',
        status: 400,
        message: 'A value of the request is out of range, too long, or contains NUL.',
      });
    },
  );

  test('a row that findOneOrFail() does not find is a 404', () => {
    const error = new EntityNotFoundError('Toy', { id: 1 });
    expect(new DatabaseErrors().translate(error)).toMatchObject({ code: 'not_found', status: 404 });
  });

  test('another error of a statement is a defect', () => {
    expect(new DatabaseErrors().translate(wrapped(failure({ code: '22P02' })))).toBeUndefined();
  });
});
