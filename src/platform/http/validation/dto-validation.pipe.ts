import { type ArgumentMetadata, Injectable, ValidationPipe } from '@nestjs/common';
import type { ValidationError } from 'class-validator';
import { ServiceError } from '../../errors/service-error.js';
import { boundedValues, isObject, rejectLargeIntegers, tooManyValues } from './bounded-values.js';
import { isDto } from './dto-rules.js';

/** How class-validator begins the message of a rule with `{ each: true }`. */
const EACH = 'each value in ';

/** An array can have hundreds of invalid items. */
const MAX_PROPERTIES = 50;

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

/**
 * Returns the message of a 400: one sentence that lists the first 50 invalid properties and the
 * values that they accept. Nested ones are paths: `items.0.name`.
 */
function validationMessage(errors: readonly ValidationError[]): string {
  const messages = errors.flatMap((error) => messagesOf(error, ''));
  const listed = messages.slice(0, MAX_PROPERTIES);
  if (messages.length > listed.length) listed.push(`and ${messages.length - listed.length} more`);
  return `${listed.join('; ')}.`;
}

function messagesOf(error: ValidationError, parentPath: string): string[] {
  const { property, constraints, children = [] } = error;
  const path = parentPath + property;
  const [message] = Object.values(constraints ?? {});
  if (message === undefined) {
    const nested = children.flatMap((child) => messagesOf(child, `${path}.`));
    return nested.length > 0 ? nested : [`${path} is invalid`];
  }
  const rule = message.replace(EACH, '').replace(`${property} `, '');
  if (error.value === undefined) return [`${path} is required and ${rule}`];
  return [message.startsWith(EACH) ? `each item of ${path} ${rule}` : `${path} ${rule}`];
}
