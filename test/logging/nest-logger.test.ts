import { Logger } from '@nestjs/common';
import { NestLogger } from '../../src/platform/logging/nest-logger.js';
import { createLogger } from '../../src/platform/logging/logger.js';

const KEY = `aas_${'k'.repeat(36)}`;
const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
const error = Object.assign(new TypeError('broken', { cause }), { parameters: ['Frank'] });
const err = {
  type: 'TypeError',
  message: 'broken',
  stack: expect.stringContaining('nest-logger.test') as string,
  cause: expect.objectContaining({ message: 'connect ECONNREFUSED' }) as unknown,
};

let lines: Record<string, unknown>[];
let requestIds: object | undefined;
const nestLogger = new NestLogger(
  createLogger('trace', {
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  }),
  () => requestIds,
);
const logger = new Logger('Toys');

beforeAll(() => Logger.overrideLogger(nestLogger));
beforeEach(() => {
  lines = [];
  requestIds = undefined;
});

/** Returns the line without the members that every line has. */
function onlyLine(): Record<string, unknown> {
  expect(lines).toHaveLength(1);
  const { level, time, context, ...members } = lines[0]!;
  expect([typeof level, typeof time, context]).toEqual(['number', 'string', 'Toys']);
  return members;
}

test.each<[title: string, log: () => void, members: Record<string, unknown>]>([
  ['an error', () => logger.error(error), { msg: 'broken', err }],
  ['a text and an error', () => logger.error('text', error), { msg: 'text', err }],
  ['a warning and an error', () => logger.warn('text', error), { msg: 'text', err }],
  ['an error in an object', () => logger.error('text', { error }), { msg: 'text', err }],
  [
    'an object with msg and err',
    () => logger.warn({ msg: 'text', err: error }),
    { msg: 'text', err },
  ],
  ['an object', () => logger.log('text', { petId: 5 }), { msg: 'text', petId: 5 }],
  [
    'an object and an error',
    () => logger.error('text', { petId: 5 }, error),
    { msg: 'text', petId: 5, err },
  ],
  [
    'further texts and values',
    () => logger.log('a', 'b', 3),
    { msg: 'a', argument: 'b', argument_: 3 },
  ],
  [
    'a stack as text',
    () => logger.error('broken', error.stack),
    { msg: 'broken', stack: err.stack },
  ],
  [
    'a second error',
    () => logger.error('text', error, { reason: cause }),
    { msg: 'text', err, reason: err.cause },
  ],
  [
    'errors in lists, Maps and nested objects',
    () => logger.error('text', { failures: [{ error }], byName: new Map([['a', error]]) }),
    { msg: 'text', failures: [{ error: err }], byName: [['a', err]] },
  ],
  ['a list', () => logger.log([1, 2]), { argument: [1, 2] }],
  [
    'a date',
    () => logger.log('at', new Date(0)),
    { msg: 'at', argument: '1970-01-01T00:00:00.000Z' },
  ],
  ['a bigint', () => logger.log(5n), { msg: '5' }],
  [
    'an object where an error belongs',
    () => logger.error('text', { err: { status: 402 } }),
    { msg: 'text', err_: { status: 402 } },
  ],
])('%s: nothing is lost', (_title, log, members) => {
  log();
  expect(onlyLine()).toEqual(members);
});

test('no argument replaces a member of the line', () => {
  requestIds = { requestId: 'request-1', traceId: undefined };
  const forged = { level: 60, time: 'now', msg: 'other', context: 'Other', requestId: 'request-2' };
  logger.warn('text', forged, { petId: 5 }, { petId: 6 });
  expect(onlyLine()).toEqual({
    msg: 'text',
    requestId: 'request-1',
    level_: 60,
    time_: 'now',
    msg_: 'other',
    context_: 'Other',
    requestId_: 'request-2',
    petId: 5,
    petId_: 6,
  });
});

test('no line contains an API key or the values of a statement', () => {
  logger.error(`text ${KEY}`, { key: KEY, nested: [{ error: new Error(KEY, { cause: error }) }] });
  logger.error(Object.assign(new Error('invalid input syntax: "Frank"'), { code: '22P02' }));
  expect(JSON.stringify(lines)).not.toMatch(/kkk|Frank/);
});
