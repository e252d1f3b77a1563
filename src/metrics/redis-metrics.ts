import { Counter, Gauge, type Registry } from 'prom-client';
import type { Circuit } from '../rate-limit/redis/circuit.js';

/** Registers what operators watch of the counters in Redis. */
export function observeRedis(registry: Registry, circuit: Circuit): void {
  const registers = [registry];
  const open: Gauge = new Gauge({
    name: 'pets_redis_circuit_open',
    help: '1 while requests are counted in this process because Redis cannot be used, else 0',
    registers,
    collect: () => open.set(circuit.isOpen ? 1 : 0),
  });
  const age: Gauge = new Gauge({
    name: 'pets_redis_last_reading_age_seconds',
    help: 'Age of the last reply of Redis while the circuit is open, 0 while it is closed',
    registers,
    collect: () => age.set(circuit.lastReplyAgeMs() / 1000),
  });
  const changes: Counter = new Counter({
    name: 'pets_redis_circuit_changes_total',
    help: 'How often the circuit has opened and closed',
    labelNames: ['state'],
    registers,
    collect: () => {
      changes.reset();
      changes.labels('open').inc(circuit.statistics.opened);
      changes.labels('closed').inc(circuit.statistics.closed);
    },
  });
  const failures: Counter = new Counter({
    name: 'pets_redis_failures_total',
    help: 'Commands to Redis that failed, probes included, by reason',
    labelNames: ['reason'],
    registers,
    collect: () => {
      failures.reset();
      for (const [reason, count] of Object.entries(circuit.statistics.failures)) {
        failures.labels(reason).inc(count);
      }
    },
  });
}
