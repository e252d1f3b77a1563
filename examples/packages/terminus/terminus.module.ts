import { Controller, Get, Module } from '@nestjs/common';
import {
  HealthCheck,
  type HealthCheckResult,
  HealthCheckService,
  HealthIndicatorService,
  TerminusModule,
  TypeOrmHealthIndicator,
} from '@nestjs/terminus';

@Controller('status')
export class StatusController {
  constructor(
    private readonly health: HealthCheckService,
    private readonly database: TypeOrmHealthIndicator,
    private readonly indicators: HealthIndicatorService,
  ) {}

  @Get()
  @HealthCheck()
  check(): Promise<HealthCheckResult> {
    return this.health.check([() => this.database.pingCheck('database')]);
  }

  @Get('printer')
  @HealthCheck()
  printer(): Promise<HealthCheckResult> {
    return this.health.check([() => this.indicators.check('printer').down('out of paper')]);
  }
}

@Module({ imports: [TerminusModule], controllers: [StatusController] })
export class StatusModule {}
