// Routes whose responses differ from those of the usual route, as a feature declares them.
import {
  Body,
  ConflictException,
  Controller,
  Delete,
  Get,
  HttpCode,
  Module,
  NotFoundException,
  Param,
  ParseIntPipe,
  Post,
} from '@nestjs/common';
import {
  ApiConflictResponse,
  ApiCreatedResponse,
  ApiNoContentResponse,
  ApiOkResponse,
  ApiProperty,
} from '@nestjs/swagger';
import { IsString } from 'class-validator';
import { Public } from '../../../src/platform/http/request/public.decorator.js';
import { ServiceError } from '../../../src/platform/errors/service-error.js';
import { ApiErrors } from '../../../src/platform/http/openapi/api.decorators.js';
import { IfMatch } from '../../../src/platform/http/response/if-match.js';
import { IdempotencyKey } from '../../../src/platform/idempotency/idempotency-key.guard.js';

const PROBE = { schema: { type: 'object' as const }, example: { probeId: 1, code: 'SUMMER' } };

class NewProbe {
  @ApiProperty({ type: 'string', example: 'Rope' })
  @IsString()
  name!: string;
}

@Controller('probes')
class ProbesController {
  @Get(':probeId')
  @ApiErrors({ not_found: 'No such probe.' })
  @ApiOkResponse(PROBE)
  find(@Param('probeId', ParseIntPipe) probeId: number) {
    if (probeId === 0) throw new NotFoundException('No such probe.');
    return { probeId };
  }

  @Delete(':probeId')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Removed.' })
  remove(@Param('probeId', ParseIntPipe) probeId: number, @IfMatch() ifMatch?: IfMatch) {
    ifMatch?.check(this.find(probeId));
  }

  @Post()
  @ApiCreatedResponse(PROBE)
  @ApiConflictResponse({ description: 'There is such a probe.' })
  add(@Body() probe: NewProbe) {
    if (probe.name === 'Ball') throw new ConflictException('There is such a probe.');
    return { probeId: 1 };
  }

  @Post(':probeId/sale')
  @ApiErrors({ conflict: 'The probe is sold.' })
  @ApiCreatedResponse(PROBE)
  sell(@Param('probeId', ParseIntPipe) probeId: number, @IdempotencyKey() _key?: IdempotencyKey) {
    if (probeId === 1) throw new ConflictException('The probe is sold.');
    const headers = { 'Retry-After': '1' };
    throw new ServiceError('idempotency_key_in_progress', 'Try again.', { headers });
  }

  @Public()
  @Get('shown/:probeId')
  @ApiOkResponse(PROBE)
  show(@Param('probeId', ParseIntPipe) probeId: number) {
    if (probeId === 0) throw new Error('secret of the inside');
    return { probeId };
  }
}

@Module({ controllers: [ProbesController] })
class ProbesFeature {}
export default [ProbesFeature];
