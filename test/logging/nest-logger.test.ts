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
const nestLogger = new NestLogger(
  createLogger('trace', {
    write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
  }),
  () => ({ requestId: 'request-1' }),
);
const logger = new Logger('Toys');

beforeAll(() => Logger.overrideLogger(nestLogger));
beforeEach(() => {
  lines = [];
});

/** Returns the line without the members that every line has. */
function onlyLine(): Record<string, unknown> {
  expect(lines).toHaveLength(1);
  const { level, time, context, requestId, ...members } = lines[0]!;
  expect([typeof level, typeof time, context, requestId]).toEqual([
    'number',
    'string',
    'Toys',
    'request-1',
  ]);
  return members;
}

test.each<[title: string, log: () => void, members: Record<string, unknown>]>([
  ['an error', () => logger.error(error), { msg: 'broken', err }],
  ['a text and an error', () => logger.error('text', error), { msg: 'text', err }],
  ['a warning and an error', () => logger.warn('text', error), { msg: 'text', err }],
  ['an error in an object', () => logger.error('text', { error }), { msg: 'text', error: err }],
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
  ['further texts and values', () => logger.log('a', 'b', 3), { msg: 'a b 3' }],
  [
    'a stack as text',
    () => logger.error('broken', error.stack),
    { msg: 'broken', stack: err.stack },
  ],
  ['a bigint', () => logger.log(5n), { msg: '5' }],
  [
    'an object whose members the line has already',
    () => logger.warn('text', { context: 'Other', requestId: 'other', petId: 5 }),
    { msg: 'text', petId: 5 },
  ],
])('%s becomes one line', (_title, log, members) => {
  log();
  expect(onlyLine()).toEqual(members);
});

test('no line contains an API key or the values of a statement', () => {
  logger.error(`text ${KEY}`, { key: KEY, nested: [{ error: new Error(KEY, { cause: error }) }] });
  logger.error(Object.assign(new Error('invalid input syntax: "Frank"'), { code: '22P02' }));
  expect(JSON.stringify(lines)).not.toMatch(/kkk|Frank/);
});
