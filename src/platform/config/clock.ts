export const SECOND_MS = 1_000;
export const MINUTE_MS = 60_000;
export const DAY_MS = 86_400_000;

/** The time that decides when windows, bans, keys and operations end. Tests set it. */
export abstract class Clock {
  /** Returns milliseconds since the Unix epoch. An operator can set this clock back. */
  abstract now(): number;

  /** Returns milliseconds since an arbitrary start, on a clock that nobody sets. For durations. */
  abstract monotonicMs(): number;
}

/** The clocks of the machine. */
export const SYSTEM_CLOCK: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};
