import { IdlePause } from '../../../src/platform/database/repeated-work.js';

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
