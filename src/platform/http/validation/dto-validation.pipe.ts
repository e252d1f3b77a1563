import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import * as classTransformer from 'class-transformer';
import * as classValidator from 'class-validator';
import { ServiceError } from '../../errors/service-error.js';
import { isObject, KnownMembers } from './known-members.js';
import { validationMessage } from './validation-message.js';

/**
 * NestJS' ValidationPipe with the messages of this service. It converts and validates DTOs of
 * bodies, queries and paths by their class-transformer and class-validator decorators.
 * @throws ServiceError invalid_request that lists the first 50 invalid properties
 */
@Injectable()
export class DtoValidationPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      stopAtFirstError: true,
      // The messages depend on whether a value was sent.
      validationError: { value: true, target: false },
      validatorPackage: classValidator,
      transformerPackage: classTransformer,
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
    // NestJS' own method takes twice as long, because it expects other values than JSON.
    const members = new KnownMembers((member) => this.stripProtoKeys(member));
    const known = members.of(value ?? {}, metatype);
    const dto = classTransformer.plainToInstance(metatype, known) as object;
    const errors = await this.validate(dto, this.validatorOptions);
    if (errors.length > 0) throw new ServiceError('invalid_request', validationMessage(errors));
    members.checkSize();
    return dto;
  }

  /** Overrides ValidationPipe.toValidate: a path parameter of type bigint is not a DTO. */
  protected override toValidate(metadata: ArgumentMetadata): boolean {
    return (metadata.metatype as unknown) !== BigInt && super.toValidate(metadata);
  }

  /** Overrides ValidationPipe.transformPrimitive, which would convert `0x10` for a pipe. */
  protected override transformPrimitive(value: unknown): unknown {
    return value;
  }
}
