import { applyDecorators } from '@nestjs/common';
import { ApiCreatedResponse, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiErrors } from '../platform/http/openapi/decorators/api-errors.decorator.js';
import {
  ApiInt64Param,
  ApiJsonBody,
} from '../platform/http/openapi/decorators/api-json.decorator.js';
import { PET_NOT_FOUND, PET_SOLD } from '../pets/pets.errors.js';
import { NewOrder } from './dto/new-order.dto.js';
import { Order } from './order.entity.js';
import { ORDER_NOT_FOUND } from './orders.errors.js';

const EXAMPLE = { id: 1, petId: 1, confirmedAt: null };

export function DescribeCreateOrder(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createOrder',
      summary: 'Buy an animal',
      description: 'Marks the animal as sold and returns the order. It is confirmed soon after.',
    }),
    ApiJsonBody(NewOrder, 'The animal to buy.'),
    ApiCreatedResponse({ type: Order, description: 'The order.', example: EXAMPLE }),
    ApiErrors(PET_NOT_FOUND, {
      invalid_request: 'petId must be an integer from -9223372036854775808 to 9223372036854775807.',
      conflict: PET_SOLD,
    }),
  );
}

export function DescribeGetOrder(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getOrder',
      summary: 'Get an order',
      description: 'Returns the order of the caller with this identifier.',
    }),
    ApiInt64Param(
      'orderId',
      "The order's identifier. A value that is not an int64 integer gets 404.",
    ),
    ApiOkResponse({ type: Order, description: 'The order.', example: EXAMPLE }),
    ApiErrors({ not_found: ORDER_NOT_FOUND }),
  );
}
