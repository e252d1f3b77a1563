import { describeCause, errorDetails } from '../../src/platform/logging/error-details.js';

const rejected = Object.assign(new Error('connect ECONNREFUSED 10.0.0.1:5432'), {
  code: 'ECONNREFUSED',
});

describe('describeCause returns one line that says something', () => {
  test.each<[title: string, cause: unknown, text: string]>([
    ['text', 'deadline', 'deadline'],
    ['an error', new Error('pool closed'), 'pool closed'],
    ['an error with its code in the message', rejected, rejected.message],
    ['an error with a code', Object.assign(new Error('no'), { code: '53300' }), '53300: no'],
    ['a code alone', Object.assign(new Error(''), { code: 'EPIPE' }), 'EPIPE'],
    ['a name alone', new TypeError(''), 'TypeError'],
    ['several lines', new Error('first\nsecond'), 'first'],
    // Node rejects so when every address of a host fails.
    [
      'several errors without a message',
      Object.assign(new AggregateError([rejected, rejected], ''), { code: 'ECONNREFUSED' }),
      rejected.message,
    ],
    ['an empty error with a cause', new Error('', { cause: rejected }), rejected.message],
    ['an error that causes itself', selfCaused(), 'Error'],
    ['an empty text', '', 'a thrown string'],
    ['nothing', undefined, 'a thrown undefined'],
    ['null', null, 'a thrown null'],
    ['an object', { password: 'x' }, 'a thrown object'],
  ])('of %s', (_title, cause, text) => {
    expect(describeCause(cause)).toBe(text);
  });
});

function selfCaused(): Error {
  const error = new Error('');
  error.cause = error;
  return error;
}

test('errorDetails has type, message, code, stack and causes, and nothing else that is attached to an error', () => {
  const cause = Object.assign(new Error('violates'), { code: '23514', detail: 'row (Frank)' });
  const error = Object.assign(new TypeError('no', { cause }), { parameters: ['Frank'] });
  const details = errorDetails(error);
  expect(details).toMatchObject({
    type: 'TypeError',
    message: 'no',
    stack: expect.stringContaining('error-details.test'),
    cause: { type: 'Error', message: '23514: violates', code: '23514' },
  });
  expect(JSON.stringify(details)).not.toContain('Frank');
});

test('errorDetails of a data exception does not have the value that PostgreSQL rejected', () => {
  const message = 'invalid input syntax for type bigint: "Frank: "x""';
  const details = errorDetails(Object.assign(new Error(message), { code: '22P02' }));
  expect(details.message).toBe('22P02: invalid input syntax for type bigint');
  expect(JSON.stringify(details)).not.toContain('Frank');
});

test('errorDetails of something that is not an error does not show it', () => {
  expect(errorDetails({ password: 'x' })).toEqual({ type: 'object', message: 'a thrown object' });
});
