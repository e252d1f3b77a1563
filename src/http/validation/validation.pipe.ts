import {
  type ArgumentMetadata,
  Injectable,
  type Type,
  ValidationPipe as NestValidationPipe,
} from '@nestjs/common';
import * as classTransformer from 'class-transformer';
import * as classValidator from 'class-validator';
import type { ValidationError } from 'class-validator';
import { ServiceError } from '../../errors/service-error.js';
import { FlatDtoFactory, isFlatDto, validatedProperties } from './flat-dto.js';
import { validationMessage } from './validation-message.js';

/**
 * NestJS' ValidationPipe with the messages of this service. It converts and validates DTOs of
 * bodies, queries and paths by their class-transformer and class-validator decorators, and removes
 * properties that have no rule. DTOs marked with `@FlatDto()` take a faster way to the same result.
 *
 * @throws ServiceError invalid_request that lists every invalid property
 */
@Injectable()
export class ValidationPipe extends NestValidationPipe {
  private readonly flatDtos = new Map<Type, FlatDtoFactory | null>();

  constructor() {
    super({
      transform: true,
      whitelist: true,
      stopAtFirstError: true,
      // The messages depend on whether a value was sent.
      validationError: { value: true, target: true },
      validatorPackage: classValidator,
      transformerPackage: classTransformer,
      exceptionFactory: invalidRequest,
    });
  }

  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { type, metatype } = metadata;
    if (!metatype || !this.toValidate(metadata)) {
      return super.transform(value, metadata) as Promise<unknown>;
    }
    if (value !== undefined && !isObject(value)) {
      throw new ServiceError('invalid_request', `The request ${type} must be a JSON object.`);
    }
    const flatDto = this.flatDtoOf(metatype);
    if (!flatDto) return super.transform(value, metadata) as Promise<unknown>;
    const { dto, errors } = flatDto.create(value ?? {});
    if (errors.length > 0) throw invalidRequest(errors);
    return dto;
  }

  /** Overrides NestValidationPipe.toValidate: a path parameter of type bigint is not a DTO. */
  protected override toValidate(metadata: ArgumentMetadata): boolean {
    return (metadata.metatype as unknown) !== BigInt && super.toValidate(metadata);
  }

  private flatDtoOf(metatype: Type): FlatDtoFactory | null {
    let factory = this.flatDtos.get(metatype);
    if (factory === undefined) {
      factory = isFlatDto(metatype) ? new FlatDtoFactory(metatype) : null;
      this.flatDtos.set(metatype, factory);
    }
    return factory;
  }
}

function invalidRequest(errors: readonly ValidationError[]): ServiceError {
  const metatype = errors[0]?.target?.constructor as Type | undefined;
  const properties = metatype ? validatedProperties(metatype) : [];
  return new ServiceError('invalid_request', validationMessage(errors, properties));
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
