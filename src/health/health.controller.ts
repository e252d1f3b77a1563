import { Controller, Get, Header, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { Public } from '../auth/public.decorator.js';
import { Readiness, type ReadinessReport } from './readiness.js';

/** For load balancers and orchestrators: is the process alive, and does it take requests? */
@Public()
@ApiExcludeController()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(private readonly readiness: Readiness) {}

  /** Asks nothing of anything else: a replica is not to be killed for what the database does. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(): { status: 'ok' } {
    return { status: 'ok' };
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(
    @Res({ passthrough: true }) response: Response,
  ): Promise<{ status: 'ok' | 'degraded' | 'unavailable'; checks: ReadinessReport['checks'] }> {
    const { ready, degraded, checks } = await this.readiness.report();
    if (!ready) response.status(503);
    return { status: ready ? (degraded ? 'degraded' : 'ok') : 'unavailable', checks };
  }
}
