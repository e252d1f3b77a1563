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
import { validatedProperties } from './dto-metadata.js';
import { isObject, knownMembers, simpleDto } from './known-members.js';
import { validationMessage } from './validation-message.js';

/**
 * NestJS' ValidationPipe with the messages of this service. It converts and validates DTOs of
 * bodies, queries and paths by their class-transformer and class-validator decorators. Properties
 * without a rule are removed before the conversion, so that they cost nothing.
 *
 * @throws ServiceError invalid_request that lists every invalid property
 */
@Injectable()
export class ValidationPipe extends NestValidationPipe {
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
    const { type, metatype, data } = metadata;
    if (metatype === String && typeof value === 'string' && value.includes('\0')) {
      // PostgreSQL rejects NUL in text, and a client must not cause a 500.
      throw new ServiceError('invalid_request', `${data} must not contain NUL.`);
    }
    if (!metatype || !this.toValidate(metadata)) {
      return super.transform(value, metadata) as Promise<unknown>;
    }
    if (value !== undefined && !isObject(value)) {
      const subject = data ?? `The request ${type}`;
      throw new ServiceError('invalid_request', `${subject} must be a JSON object.`);
    }
    const dto = simpleDto(value ?? {}, metatype);
    if (!dto) return super.transform(knownMembers(value, metatype), metadata) as Promise<unknown>;
    const errors = await this.validate(dto, this.validatorOptions);
    if (errors.length > 0) throw invalidRequest(errors);
    return dto;
  }

  /** Overrides NestValidationPipe.toValidate: a path parameter of type bigint is not a DTO. */
  protected override toValidate(metadata: ArgumentMetadata): boolean {
    return (metadata.metatype as unknown) !== BigInt && super.toValidate(metadata);
  }

  /** Overrides NestValidationPipe.transformPrimitive, which would convert `0x10` for a pipe. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}

function invalidRequest(errors: readonly ValidationError[]): ServiceError {
  const metatype = errors[0]?.target?.constructor as Type | undefined;
  const properties = metatype ? validatedProperties(metatype) : [];
  return new ServiceError('invalid_request', validationMessage(errors, properties));
}
