import { Injectable } from '@nestjs/common';
import { AuditTrail, Command, countUpTo, Operator, YES_OPTION } from '#platform';
import { SeedRepository } from './seed.repository.js';

const MAX_ROWS = 100_000_000;

@Injectable()
export class SeedCommand {
  constructor(
    private readonly seeds: SeedRepository,
    private readonly operator: Operator,
    private readonly audit: AuditTrail,
  ) {}

  @Command(
    'seed',
    'add generated rows',
    (command) =>
      command
        .requiredOption(
          '--animals <n>',
          'add animals of varied names, categories and statuses',
          countUpTo(MAX_ROWS),
        )
        .option(...YES_OPTION),
    { createsDatabase: true },
  )
  async seed({ animals, ...options }: { animals: number; yes?: true }) {
    const { description } = this.operator.database;
    await this.operator.confirm(`This adds ${animals} animals to ${description}.`, options);
    // Recorded first, so that an interrupted command has not added rows without a record.
    await this.audit.record('db seed', { requested: { animals } });
    await this.seeds.add(animals);
    return { animals };
  }
}
