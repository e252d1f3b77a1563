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
import { Public } from '../../../src/platform/access/public.decorator.js';
import { ServiceError } from '../../../src/platform/errors/service-error.js';
import { ApiErrors } from '../../../src/platform/http/openapi/api.decorators.js';
import { IdempotencyKey } from '../../../src/platform/idempotency/idempotency-key.js';

const TOY = { schema: { type: 'object' as const }, example: { toyId: 1 } };

class NewToy {
  @ApiProperty({ type: 'string', example: 'Rope' })
  @IsString()
  name!: string;
}

@Controller('toys')
class ToysController {
  @Get(':toyId')
  @ApiErrors({ not_found: 'No such toy.' })
  @ApiOkResponse(TOY)
  find(@Param('toyId', ParseIntPipe) toyId: number) {
    if (toyId === 0) throw new NotFoundException('No such toy.');
    return { toyId };
  }

  @Delete(':toyId')
  @HttpCode(204)
  @ApiNoContentResponse({ description: 'Removed.' })
  remove(@Param('toyId', ParseIntPipe) _toyId: number) {
    return undefined;
  }

  @Post()
  @ApiCreatedResponse(TOY)
  @ApiConflictResponse({ description: 'There is such a toy.' })
  add(@Body() toy: NewToy) {
    if (toy.name === 'Ball') throw new ConflictException('There is such a toy.');
    return { toyId: 1 };
  }

  @Post(':toyId/sale')
  @ApiErrors({ conflict: 'The toy is sold.' })
  @ApiCreatedResponse(TOY)
  sell(@Param('toyId', ParseIntPipe) toyId: number, @IdempotencyKey() _key?: IdempotencyKey) {
    if (toyId === 1) throw new ConflictException('The toy is sold.');
    const headers = { 'Retry-After': '1' };
    throw new ServiceError('idempotency_key_in_progress', 'Try again.', { headers });
  }

  @Public()
  @Get('shown/:toyId')
  @ApiOkResponse(TOY)
  show(@Param('toyId', ParseIntPipe) toyId: number) {
    if (toyId === 0) throw new Error('secret of the inside');
    return { toyId };
  }
}

@Module({ controllers: [ToysController] })
class ToysFeature {}
export default [ToysFeature];
