/** The time that limits, keys and deprecations are judged by; tests set it, the service never does. */
export abstract class Clock {
  /** Returns the current time in milliseconds since the Unix epoch. */
  abstract now(): number;
}

export class SystemClock extends Clock {
  override now(): number {
    return Date.now();
  }
}
