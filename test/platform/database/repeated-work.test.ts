import type { Logger } from '@nestjs/common';
import { IdlePause, RepeatedWork } from '../../../src/platform/database/repeated-work.js';

test('failures are logged once per minute, and the success after them', async () => {
  let nowMs = 5;
  const lines: string[] = [];
  const logger = {
    warn: ({ msg, err }: { msg: string; err: Error }) => lines.push(`warn ${msg}: ${err.message}`),
    log: (line: string) => lines.push(`log ${line}`),
  };
  const clock = { now: () => 0, monotonicMs: () => nowMs };
  const work = new RepeatedWork(logger as unknown as Logger, clock, 'Counting');
  const run = async (atMs: number, failure?: string) => {
    nowMs = atMs;
    const task = () => (failure ? Promise.reject(new Error(failure)) : Promise.resolve(1));
    expect(await work.run(task)).toBe(failure ? undefined : 1);
    return lines.splice(0);
  };
  expect(await run(5)).toEqual([]);
  expect(await run(10, 'a')).toEqual(['warn Counting has failed: a']);
  expect(await run(20, 'b')).toEqual([]);
  expect(await run(60_009, 'c')).toEqual([]);
  expect(await run(60_010, 'd')).toEqual(['warn Counting has failed 4 times: d']);
  expect(await run(60_020, 'e')).toEqual([]);
  expect(await run(60_030)).toEqual(['log Counting succeeds again, after 5 failures']);
  expect(await run(60_040)).toEqual([]);
  // Work that fails now and then does not fill the log.
  expect(await run(60_050, 'f')).toEqual([]);
  expect(await run(60_060)).toEqual([]);
  expect(await run(120_010, 'g')).toEqual(['warn Counting has failed: g']);
  expect(await run(120_020)).toEqual(['log Counting succeeds again, after 1 failure']);
});

test('the pause of work with nothing to do doubles up to an hour, and is short after other work', () => {
  let nowMs = 0;
  const pause = new IdlePause({ now: () => 0, monotonicMs: () => nowMs }, 2_000);
  /** Returns the ticks of its interval until the next run. */
  const ticksAfter = (hadNothingToDo: boolean): number => {
    pause.begin(hadNothingToDo);
    let ticks = 0;
    do {
      nowMs += 2_000;
      ticks++;
    } while (!pause.isOver);
    return ticks;
  };
  expect(pause.isOver).toBe(true);
  expect(ticksAfter(false)).toBe(1);
  expect([true, true, true, true].map(ticksAfter)).toEqual([2, 4, 8, 16]);
  expect(ticksAfter(false)).toBe(1);
  expect(Array.from({ length: 12 }, () => ticksAfter(true)).at(-1)).toBe(1_800);
});

test('the pause of work with nothing to do is at most as long as this work allows', () => {
  let nowMs = 0;
  const pause = new IdlePause({ now: () => 0, monotonicMs: () => nowMs }, 1_000, 5_000);
  for (const pauseMs of [2_000, 4_000, 5_000, 5_000]) {
    pause.begin(true);
    nowMs += pauseMs - 1_000;
    expect(pause.isOver).toBe(false);
    nowMs += 1_000;
    expect(pause.isOver).toBe(true);
  }
});
