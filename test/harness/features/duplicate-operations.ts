// Two routes with one operationId.
import { Controller, Get, Module } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';

@Controller('lost')
class LostController {
  @Get()
  @ApiOperation({ operationId: 'listThings' })
  list() {
    return [];
  }
}

@Controller('found')
class FoundController {
  @Get('things')
  @ApiOperation({ operationId: 'listThings' })
  list() {
    return [];
  }
}

@Module({ controllers: [LostController, FoundController] })
class DuplicateOperations {}
export default [DuplicateOperations];
