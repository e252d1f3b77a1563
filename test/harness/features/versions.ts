// Routes of two versions of the API, and one without a version.
import { Controller, Get, Module, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';

const OK = { description: 'OK.', schema: { type: 'object' as const } };
const text = (summary: string) => ({ summary, description: `${summary}.` });

@Controller({ path: 'toys', version: ['1', '2'] })
class ToysController {
  @Get()
  @ApiOperation({ operationId: 'listToys', ...text('List toys') })
  @ApiOkResponse(OK)
  list() {
    return { of: 'both' };
  }

  @Get('best')
  @ApiOperation(text('Get the best toy'))
  @ApiOkResponse(OK)
  best() {
    return { of: 'both' };
  }
}

@Controller({ path: 'sales', version: '1' })
class SalesController {
  @Get()
  @ApiOperation({ operationId: 'listSales', ...text('List sales') })
  @ApiOkResponse(OK)
  list() {
    return { of: '1' };
  }
}

@Controller({ path: 'sales', version: '2' })
class SalesControllerV2 {
  @Get()
  @ApiOperation({ operationId: 'listSales', ...text('List sales') })
  @ApiOkResponse(OK)
  list() {
    return { of: '2' };
  }

  @Get('sum')
  @ApiOperation({ operationId: 'sumSalesV2', ...text('Sum sales') })
  @ApiOkResponse(OK)
  sum() {
    return { of: '2' };
  }
}

// Its path begins like that of a version.
@Controller({ path: 'v2s', version: VERSION_NEUTRAL })
class NeutralController {
  @Get()
  @ApiOperation({ operationId: 'getNeutral' })
  @ApiOkResponse(OK)
  get() {
    return { of: 'neither' };
  }
}

const controllers = [ToysController, SalesController, SalesControllerV2, NeutralController];

@Module({ controllers })
class VersionsFeature {}
export default [VersionsFeature];
