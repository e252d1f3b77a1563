import { Controller, Get, Header, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { SkipThrottle } from '@nestjs/throttler';
import { Public } from '../http/request/public.decorator.js';
import { Settings } from '../config/settings.js';
import type { Request, Response } from '../http/request/request.js';
import { sendBody } from '../http/response/send-body.js';
import { Readiness } from './readiness.js';

/**
 * The health probes of load balancers and orchestrators. It sends its responses itself, so that an
 * interceptor of a feature does not wrap them.
 */
@Public()
@SkipThrottle()
@ApiExcludeController()
@Controller({ path: 'health', version: VERSION_NEUTRAL })
export class HealthController {
  constructor(
    private readonly readiness: Readiness,
    private readonly settings: Settings,
  ) {}

  /** Queries no other component: restarting the replica would not fix the database. */
  @Get('live')
  @Header('Cache-Control', 'no-store')
  live(@Req() request: Request, @Res() response: Response): void {
    const { version } = this.settings;
    sendBody(request, response, JSON.stringify({ status: 'ok', version }));
  }

  @Get('ready')
  @Header('Cache-Control', 'no-store')
  async ready(@Req() request: Request, @Res() response: Response): Promise<void> {
    const report = await this.readiness.report();
    if (report.status === 'unavailable') response.status(503);
    const { version } = this.settings;
    sendBody(request, response, JSON.stringify({ ...report, version }));
  }
}
