/** The current time for rate limits, API keys and deprecations. Tests set it. */
export abstract class Clock {
  /** Returns milliseconds since the Unix epoch. */
  abstract now(): number;
}

export class SystemClock extends Clock {
  override now(): number {
    return Date.now();
  }
}
