import { Injectable, Logger } from '@nestjs/common';
import {
  type CheckResult,
  ComponentCheck,
  type ComponentState,
} from '../database/pools/component-check.js';
import { DatabaseProbe } from '../database/pools/database-probe.js';
import { ServiceMetrics } from '../metrics/service-metrics.js';
import { describeCause } from '../errors/error-details.js';
import { LimitStorage } from '../rate-limit/limit-storage.js';
import type { Circuit } from '../rate-limit/redis/circuit.js';

/** Whether this replica can serve requests, and the checks that decide it. */
export interface ReadinessReport {
  /** `degraded`: the replica serves requests, but a component is down or accepts no writes. */
  status: 'ok' | 'degraded' | 'unavailable';
  /** `shutdown` is `no` or `in progress`. While it is `no`, each component is `up`, `read-only` or `down`. */
  checks: Record<string, string>;
}

interface Component {
  /** Whether the replica is unavailable while the component is down. Otherwise, it is degraded. */
  required?: boolean;
  /** How long a check may take, in milliseconds. Probes wait for it. */
  limitMs?: number;
  /** The component is down if this fails, takes too long, or returns `down` or false. */
  check: () => unknown;
}

/** Decides whether load balancers should send requests to this replica. */
@Injectable()
export class Readiness {
  private readonly components = new Map<string, { required: boolean; check: ComponentCheck }>();
  /** The states of the latest checks. */
  private readonly states = new Map<string, ComponentState>();
  private readonly logger = new Logger(Readiness.name);
  private shuttingDown = false;

  constructor(database: DatabaseProbe, { circuit }: LimitStorage, metrics: ServiceMetrics) {
    this.addCheck('database', true, database);
    if (circuit) this.add('redis', { check: () => throwIfOpen(circuit) });
    metrics.add('ready', '1 while this replica is ready for requests, else 0', async () =>
      Number((await this.report()).status !== 'unavailable'),
    );
    metrics.add(
      'component_up',
      '1 while a component of the service responds, or the database accepts writes, else 0',
      async () => {
        const { shutdown: _, ...states } = (await this.report()).checks;
        const values = Object.entries(states).map(([name, state]) => [name, +(state !== 'down')]);
        const { database } = states;
        return {
          ...(Object.fromEntries(values) as Record<string, number>),
          ...(database && { database_writes: Number(database === 'up') }),
        };
      },
      ['component'],
    );
  }

  /**
   * Adds a component to `/health/ready` and to the metric `component_up`. Concurrent calls share one
   * check, because anyone can send any number of health probes.
   *
   * @throws Error if the name is taken
   */
  add(name: string, { required = false, limitMs = 500, check }: Component): void {
    this.addCheck(name, required, new ComponentCheck(check, limitMs));
  }

  private addCheck(name: string, required: boolean, check: ComponentCheck): void {
    if (name === 'shutdown' || this.components.has(name)) throw new Error(`${name} is taken`);
    this.components.set(name, { required, check });
  }

  /** The replica is not ready from now on. */
  beginShutdown(): void {
    this.shuttingDown = true;
  }

  /**
   * Returns the report. During shutdown, it does not wait for components, because load balancers
   * must notice the shutdown within SHUTDOWN_DELAY_SECONDS.
   */
  async report(): Promise<ReadinessReport> {
    if (this.shuttingDown) return { status: 'unavailable', checks: { shutdown: 'in progress' } };
    const checks: ReadinessReport['checks'] = { shutdown: 'no' };
    let status: ReadinessReport['status'] = 'ok';
    const running = Array.from(this.components, async ([name, { required, check }]) => {
      return { name, required, result: await check.run() };
    });
    for (const { name, required, result } of await Promise.all(running)) {
      this.logChange(name, result);
      checks[name] = result.state;
      if (result.state === 'down' && required) status = 'unavailable';
      else if (result.state !== 'up' && status === 'ok') status = 'degraded';
    }
    return { status, checks };
  }

  private logChange(component: string, { state, cause }: CheckResult): void {
    if (state === (this.states.get(component) ?? 'up')) return;
    this.states.set(component, state);
    const level = state === 'up' ? 'log' : 'warn';
    const reason = cause === undefined ? undefined : describeCause(cause);
    this.logger[level]({ msg: 'component changed', component, state, cause: reason });
  }
}

/** @throws RedisFailure why the circuit is open */
function throwIfOpen({ cause }: Circuit): void {
  if (cause) throw cause;
}
