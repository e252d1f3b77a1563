import { Logger } from '@nestjs/common';
import { BackgroundJob, BackgroundJobs } from '../../src/platform/jobs/background-jobs.js';

const INTERVAL_MS = 1_000;
/** The longest interval. */
const ONE_RUN_MS = 1_500;

let job: BackgroundJob;
let runs: number;
let signal: AbortSignal | undefined;
let work: () => Promise<void>;

beforeEach(() => {
  jest.useFakeTimers();
  runs = 0;
  work = () => Promise.resolve();
  job = new BackgroundJob('Example', INTERVAL_MS, (stopSignal) => {
    runs++;
    signal = stopSignal;
    return work();
  });
});
afterEach(async () => {
  await job.stop();
  jest.useRealTimers();
  jest.restoreAllMocks();
});

it('does not run before it is started, and at first after an interval', async () => {
  await jest.advanceTimersByTimeAsync(10 * INTERVAL_MS);
  expect(runs).toBe(0);
  job.start();
  await jest.advanceTimersByTimeAsync(0.49 * INTERVAL_MS);
  expect(runs).toBe(0);
});

it.each([
  ['shortest', 0, 0.5],
  ['longest', 1, 1.5],
])('runs at the %s interval', async (_which, random, intervals) => {
  jest.spyOn(Math, 'random').mockReturnValue(random);
  job.start();
  for (const expected of [1, 2, 3]) {
    await jest.advanceTimersByTimeAsync(intervals * INTERVAL_MS - 1);
    expect(runs).toBe(expected - 1);
    await jest.advanceTimersByTimeAsync(1);
    expect(runs).toBe(expected);
  }
});

it('does not start a run while another one is in progress', async () => {
  let finish = (): void => undefined;
  work = () => new Promise((resolve) => (finish = resolve));
  job.start();
  await jest.advanceTimersByTimeAsync(10 * ONE_RUN_MS);
  expect(runs).toBe(1);
  finish();
  await jest.advanceTimersByTimeAsync(ONE_RUN_MS);
  expect(runs).toBe(2);
  finish();
});

it.each([
  ['a rejected promise', () => Promise.reject(new Error('broken'))],
  [
    'a thrown error',
    () => {
      throw new Error('broken');
    },
  ],
])('logs %s and continues with the next run', async (_what, fail) => {
  const warn = jest.spyOn(Logger.prototype, 'warn').mockImplementation();
  work = fail;
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
  job.start();
  await jest.advanceTimersByTimeAsync(2 * INTERVAL_MS);
  expect(runs).toBe(2);
  expect(warn).toHaveBeenCalledWith({
    msg: 'background job failed',
    err: expect.objectContaining({ message: 'broken' }),
  });
});

it('logs the first failure, one per minute, and that it works again, each time that it fails', async () => {
  const lines: string[] = [];
  const note = (line: unknown) => void lines.push(typeof line === 'string' ? line : 'failed');
  jest.spyOn(Logger.prototype, 'warn').mockImplementation(note);
  jest.spyOn(Logger.prototype, 'log').mockImplementation(note);
  const fail = () => Promise.reject(new Error('broken'));
  const succeed = () => Promise.resolve();
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
  job.start();
  for (const [next, seconds] of [
    [succeed, 1],
    [fail, 60],
    [fail, 1],
    [succeed, 2],
    [fail, 1],
  ] as const) {
    work = next;
    await jest.advanceTimersByTimeAsync(seconds * INTERVAL_MS);
    lines.push('.');
  }
  const again = 'background job works again';
  expect(lines).toEqual(['.', 'failed', '.', 'failed', '.', again, '.', 'failed', '.']);
});

it('aborts its signal and waits for the run in progress when it stops, and does not run again', async () => {
  let finish = (): void => undefined;
  work = () => new Promise((resolve) => (finish = resolve));
  job.start();
  await jest.advanceTimersByTimeAsync(ONE_RUN_MS);
  expect(signal?.aborted).toBe(false);
  let isStopped = false;
  const stopped = job.stop().then(() => (isStopped = true));
  await jest.advanceTimersByTimeAsync(INTERVAL_MS);
  expect([signal?.aborted, isStopped]).toEqual([true, false]);
  finish();
  await stopped;
  await jest.advanceTimersByTimeAsync(10 * INTERVAL_MS);
  expect(runs).toBe(1);
});

it('starts at once if it is added after the start of the service', async () => {
  jest.spyOn(Math, 'random').mockReturnValue(0.5);
  const jobs = new BackgroundJobs();
  jobs.onApplicationBootstrap();
  jobs.every('Late', INTERVAL_MS, () => {
    runs++;
    return Promise.resolve();
  });
  await jest.advanceTimersByTimeAsync(ONE_RUN_MS);
  expect(runs).toBe(1);
  await jobs.onModuleDestroy();
});

it('can be run once at any time, also after its stop', async () => {
  await job.stop();
  await job.run();
  expect(runs).toBe(1);
});
