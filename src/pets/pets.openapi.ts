import { applyDecorators } from '@nestjs/common';
import { ApiOperation } from '@nestjs/swagger';

export const DescribeListPets = (): MethodDecorator =>
  applyDecorators(ApiOperation({ operationId: 'listPets' }));
export const DescribeCreatePet = (): MethodDecorator =>
  applyDecorators(ApiOperation({ operationId: 'createPet' }));
export const DescribeGetPet = (): MethodDecorator =>
  applyDecorators(ApiOperation({ operationId: 'getPet' }));
