// @ts-check
// A feature as a team might write it: a deprecated list, log lines, the clock and the settings.
import { setTimeout as delay } from 'node:timers/promises';
import {
  Controller,
  Get,
  Inject,
  Injectable,
  Logger,
  Param,
  ParseIntPipe,
  Req,
} from '@nestjs/common';
import { Interval } from '@nestjs/schedule';
import { EntityManager } from 'typeorm';
import { Public } from '#dist/platform/access/public.decorator.js';
import { Clock } from '#dist/platform/config/clock.js';
import { Settings } from '#dist/platform/config/settings.js';
import { Deprecated } from '#dist/platform/http/routing/deprecation.js';
import { PipelinedStatements } from '#dist/platform/database/pipelining/pipelined-statements.js';
import { decorateAll, feature } from './decorate.mjs';

class ToysService {
  logger = new Logger(ToysService.name);

  /**
   * @param {EntityManager} database
   * @param {PipelinedStatements} statements
   * @param {Clock} clock
   * @param {Settings} settings
   */
  constructor(database, statements, clock, settings) {
    this.database = database;
    this.statements = statements;
    this.clock = clock;
    this.settings = settings;
  }

  async count() {
    const [row] = await this.database.query('SELECT count(*)::int AS pets FROM pets');
    this.logger.log({ msg: 'counted', pets: row.pets });
    throw new Error('no toys');
  }

  /**
   * Logs before and after each kind of wait.
   *
   * @param {number} toy
   */
  async sell(toy) {
    this.logger.log({ msg: 'selling', toy, step: 'start' });
    await this.statements.read(
      'SELECT $1::int',
      [toy],
      (/** @type {[number]} */ [number]) => number,
    );
    this.logger.log({ msg: 'selling', toy, step: 'statement' });
    await this.database.transaction((transaction) => transaction.query('SELECT 1'));
    this.logger.log({ msg: 'selling', toy, step: 'transaction' });
    await delay(1);
    this.logger.log('sold');
    return { toy };
  }
}
Injectable()(ToysService);
decorateAll(ToysService, { count: [Interval(10)] });
const tokens = [EntityManager, PipelinedStatements, Clock, Settings];
for (const [index, token] of tokens.entries()) Inject(token)(ToysService, undefined, index);

class ToysController {
  /** @param {ToysService} toys */
  constructor(toys) {
    this.toys = toys;
  }

  /** @param {import('express').Request} request */
  list(request) {
    request.nextPage = { cursor: '2' };
    return ['ball'];
  }

  environment() {
    const { clock, settings } = this.toys;
    return { now: clock.now(), poolSize: settings.database.poolSize };
  }

  /** @param {number} toy */
  sell(toy) {
    return this.toys.sell(toy);
  }
}
Controller({ path: 'toys', version: '1' })(ToysController);
Public()(ToysController);
Inject(ToysService)(ToysController, undefined, 0);
const DEPRECATION = {
  since: new Date('2026-01-01'),
  sunset: new Date('2040-01-01'),
  successor: '/v2/toys',
  replacement: 'Use version 2.',
};
decorateAll(ToysController, {
  list: [Get(), Deprecated(DEPRECATION)],
  environment: [Get('environment')],
  sell: [Get(':toy/sale')],
});
Req()(ToysController.prototype, 'list', 0);
Param('toy', ParseIntPipe)(ToysController.prototype, 'sell', 0);

export default [feature({ controllers: [ToysController], providers: [ToysService] })];
