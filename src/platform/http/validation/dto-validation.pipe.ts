import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import { ServiceError } from '../../errors/service-error.js';
import { boundedValues, isObject, rejectLargeIntegers, tooManyValues } from './bounded-values.js';
import { isDto } from './dto-rules.js';
import { validationMessage } from './validation-message.js';

/** NestJS' pipe with bounded work, and one message that lists every invalid property. */
@Injectable()
export class DtoValidationPipe extends ValidationPipe {
  constructor() {
    super({
      transform: true,
      whitelist: true,
      stopAtFirstError: true,
      // The messages depend on whether a value was sent.
      validationError: { value: true, target: false },
      exceptionFactory: (errors) => new ServiceError('invalid_request', validationMessage(errors)),
    });
  }

  /** @throws ServiceError invalid_request that lists the first 50 invalid properties */
  override async transform(value: unknown, metadata: ArgumentMetadata): Promise<unknown> {
    const { type, metatype, data } = metadata;
    if (!metatype || !this.toValidate(metadata)) return super.transform(value, metadata);
    if (value === undefined) {
      const missing = 'The request body is empty. ';
      return super.transform(value, metadata).catch((error: unknown) => {
        const isEmptyBody = type === 'body' && error instanceof ServiceError;
        throw isEmptyBody ? new ServiceError('invalid_request', missing + error.message) : error;
      });
    }
    if (!isObject(value)) {
      const subject = data ?? `The request ${type}`;
      throw new ServiceError('invalid_request', `${subject} must be a JSON object.`);
    }
    const { members, isTooLarge } = boundedValues(value, metatype);
    const dto: unknown = await super.transform(members, metadata);
    if (isTooLarge) throw tooManyValues();
    rejectLargeIntegers(dto);
    return dto;
  }

  /** Overrides ValidationPipe.toValidate: a class without rules, such as BigInt, is no DTO. */
  protected override toValidate(metadata: ArgumentMetadata): boolean {
    return super.toValidate(metadata) && isDto(metadata.metatype);
  }
}
