import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { getMetadataStorage, validateSync, type ValidationError } from 'class-validator';
import { ServiceError } from '../../errors/service-error.js';
import { conversionsOf, type Conversion } from './conversion.js';
import { opaquePropertiesOf } from './opaque.js';

interface DtoPlan {
  /** The validated properties, in the order in which the class declares them. */
  properties: readonly string[];
  conversions: ReadonlyMap<string, Conversion>;
  /** Those that no rule looks at. */
  opaque: ReadonlySet<string>;
  /** Whether what the class sets by itself is known to be valid: then it is when nothing is sent that rules look at. */
  isValidBare: boolean;
}

/**
 * Makes a DTO of a query or body and validates it by class-validator's rules. Only properties that
 * the class validates are taken over, and only members of the object's own: others are ignored.
 *
 * @throws ServiceError invalid_request that names every field that is wrong, in the order of the
 *   class, and what it takes
 */
@Injectable()
export class ValidationPipe implements PipeTransform {
  private readonly plans = new WeakMap<Type, DtoPlan>();

  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if ((type !== 'body' && type !== 'query') || !metatype) return value;
    const plan = this.planOf(metatype);
    if (plan.properties.length === 0) return value;
    if (value !== undefined && !isObject(value)) {
      throw new ServiceError('invalid_request', `The request ${type} must be a JSON object.`);
    }
    return toDto(metatype, plan, value ?? {});
  }

  private planOf(metatype: Type): DtoPlan {
    let plan = this.plans.get(metatype);
    if (!plan) {
      plan = makePlan(metatype);
      this.plans.set(metatype, plan);
    }
    return plan;
  }
}

function makePlan(metatype: Type): DtoPlan {
  const rules = getMetadataStorage().getTargetValidationMetadatas(metatype, '', false, false);
  return {
    properties: [...new Set(rules.map(({ propertyName }) => propertyName))],
    conversions: conversionsOf(metatype.prototype as object),
    opaque: opaquePropertiesOf(metatype.prototype as object),
    isValidBare: false,
  };
}

function toDto(metatype: Type, plan: DtoPlan, sent: Record<string, unknown>): object {
  const dto = new metatype() as Record<string, unknown>;
  let isBare = true;
  for (const property of plan.properties) {
    if (!Object.hasOwn(sent, property)) continue;
    isBare &&= plan.opaque.has(property);
    const convert = plan.conversions.get(property);
    dto[property] = convert ? convert(sent[property]) : sent[property];
  }
  if (isBare && plan.isValidBare) return dto;
  const errors = validateSync(dto, { stopAtFirstError: true, forbidUnknownValues: false });
  if (errors.length > 0) throw new ServiceError('invalid_request', messageOf(errors, plan));
  plan.isValidBare ||= isBare;
  return dto;
}

function messageOf(errors: readonly ValidationError[], { properties }: DtoPlan): string {
  return [...errors]
    .sort((a, b) => properties.indexOf(a.property) - properties.indexOf(b.property))
    .map(fieldMessage)
    .join('; ')
    .concat('.');
}

function fieldMessage({ property, value, constraints, children }: ValidationError): string {
  const message = Object.values(constraints ?? {})[0];
  if (message === undefined) {
    return children?.map(fieldMessage).join('; ') || `${property} is invalid`;
  }
  if (value !== undefined) return message;
  return `${property} is required and ${message.replace(`${property} `, '')}`;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
