import { setImmediate, setTimeout as delay } from 'node:timers/promises';

/** `read-only`: it responds but accepts no writes, for example because it is a standby. */
export type ComponentState = 'up' | 'read-only' | 'down';

export interface CheckResult {
  readonly state: ComponentState;
  /** Why it is down or accepts no writes, if that is known. */
  readonly cause?: unknown;
}

/** Checks a component that the service depends on, in a limited time. */
export class ComponentCheck {
  private running: Promise<CheckResult> | undefined;

  /**
   * @param check the component is down if this fails, or returns `down` or false
   * @param limitMs how long a check may take before the component is down
   */
  constructor(
    private readonly check: () => unknown,
    private readonly limitMs: number,
  ) {}

  /**
   * Returns the state of the component. Concurrent calls share one check, because anyone can send
   * any number of health probes.
   */
  run(): Promise<CheckResult> {
    this.running ??= Promise.race([this.checkOnce(), this.downAfterLimit()]).finally(
      () => (this.running = undefined),
    );
    return this.running;
  }

  private async downAfterLimit(): Promise<CheckResult> {
    await delay(this.limitMs, undefined, { ref: false });
    // After a busy period, the timer fires before Node.js reads sockets. A response that has arrived wins.
    await setImmediate();
    return { state: 'down', cause: `no response in ${this.limitMs} ms` };
  }

  private async checkOnce(): Promise<CheckResult> {
    try {
      const result = await this.check();
      if (result === 'read-only') return { state: 'read-only' };
      return { state: result === 'down' || result === false ? 'down' : 'up' };
    } catch (cause) {
      return { state: 'down', cause };
    }
  }
}
