import { Counter, Gauge, type Registry } from 'prom-client';
import type { Standbys } from '../database/standbys/standbys.js';

/** Registers what operators watch of the standbys. They are told by their place in the setting: an address holds a password. */
export function observeStandbys(registry: Registry, standbys: Standbys): void {
  const registers = [registry];
  const inService: Gauge = new Gauge({
    name: 'pets_standby_in_service',
    help: '1 while the standby of this place in DATABASE_REPLICA_URLS is asked, 0 while it is left out',
    labelNames: ['standby'],
    registers,
    collect: () => {
      for (const [index, isInService] of standbys.inService.entries()) {
        inService.labels(String(index)).set(isInService ? 1 : 0);
      }
    },
  });
  const reads: Counter = new Counter({
    name: 'pets_reads_total',
    help: 'Lists and gets, by who answered them: a standby, or the primary after all',
    labelNames: ['source'],
    registers,
    collect: () => {
      reads.reset();
      for (const [source, count] of Object.entries(standbys.statistics)) {
        reads.labels(source).inc(count);
      }
    },
  });
}
