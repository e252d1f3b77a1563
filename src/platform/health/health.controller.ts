import { Controller, Get, Header, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { SkipThrottle } from '@nestjs/throttler';
import type { Response } from 'express';
import { Public } from '../http/request/public.decorator.js';
import { VERSION } from '../config/version.js';
import { Readiness, type ReadinessReport } from './readiness.js';

/** The health probes of load balancers and orchestrators. */
@Public()
@SkipThrottle()
@ApiExcludeController()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** Queries no other component: restarting the replica would not fix the database. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): { status: 'ok'; version: string } {
    return { status: 'ok', version: VERSION };
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(
    @Res({ passthrough: true }) response: Response,
  ): Promise<ReadinessReport & { version: string }> {
    const report = await this.readiness.report();
    if (report.status === 'unavailable') response.status(503);
    return { ...report, version: VERSION };
  }
}
