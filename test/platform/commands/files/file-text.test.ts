import { PassThrough } from 'node:stream';
import { textBlocks } from '../../../../src/platform/commands/files/file-text.js';

const MINUTE_MS = 60_000;

afterEach(() => {
  jest.useRealTimers();
  jest.restoreAllMocks();
});

test('standard input that pauses for more than ten minutes ends the command, which holds a transaction', async () => {
  const input = new PassThrough();
  jest.spyOn(process, 'stdin', 'get').mockReturnValue(input as unknown as typeof process.stdin);
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const blocks = textBlocks('-');
  for (const line of ['a\n', 'b\n']) {
    const block = blocks.next();
    // Each pause is shorter than the limit, and both are longer.
    await jest.advanceTimersByTimeAsync(9 * MINUTE_MS);
    input.write(line);
    expect(await block).toEqual({ done: false, value: line });
  }
  const failed = expect(blocks.next()).rejects.toThrow(
    'The input has paused for more than 10 minutes.',
  );
  await jest.advanceTimersByTimeAsync(10 * MINUTE_MS);
  await failed;
});
