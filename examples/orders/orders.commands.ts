import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Command, each, parseInt64Argument, Terminal, YES_OPTION } from '#platform';
import type { CancelledOrder } from './order.entity.js';
import { SalesService } from './sales.service.js';

/** The commands `orders …` for operators. */
@Injectable()
export class OrdersCommands {
  constructor(
    private readonly sales: SalesService,
    private readonly dataSource: DataSource,
    private readonly terminal: Terminal,
  ) {}

  @Command(
    'cancel',
    'cancel orders, so that their animals are available again',
    (command) =>
      command
        .argument('<ids...>', 'the ids of the orders', each(parseInt64Argument))
        .option(...YES_OPTION),
    { effect: 'changed' },
  )
  async cancel(ids: bigint[], options: { yes?: true }): Promise<CancelledOrder[]> {
    const { description } = this.terminal.database;
    const effect = `This cancels the orders ${ids.join(', ')} in ${description}.`;
    await this.terminal.confirm(effect, options);
    return this.dataSource.transaction(() => this.sales.cancel(ids));
  }
}
