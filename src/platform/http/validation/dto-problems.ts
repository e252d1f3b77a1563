import type { Type } from '@nestjs/common';
import { DECORATORS } from '@nestjs/swagger';
import { ValidationTypes } from 'class-validator';
import {
  type CompiledDto,
  isDto,
  isNestedRule,
  nestedClass,
  nestedTypeOf,
  type Rule,
  rulesOf,
} from './dto-rules.js';

/** Rules that check an array and none of its items. */
const ARRAY_RULES = /^(?:isArray|array(?:Contains|MaxSize|MinSize|NotContains|NotEmpty|Unique))$/;

/**
 * Returns a sentence for each property of a DTO class that no request can set, or that accepts any
 * value although it seems to have a rule. Includes nested DTOs, except those in `checked`.
 */
export function dtoProblems(dto: Type, checked = new Set<Type>()): string[] {
  if (checked.has(dto)) return [];
  checked.add(dto);
  const { byProperty } = rulesOf(dto);
  const properties = new Set([...Object.keys(byProperty), ...declaredProperties(dto)]);
  return [...properties].flatMap((property) => {
    const problem = propertyProblem(dto, property, byProperty[property] ?? []);
    if (problem !== undefined) return [`${dto.name}.${property} ${problem}`];
    const nested = nestedClass(dto, property);
    return isDto(nested) ? dtoProblems(nested, checked) : [];
  });
}

function propertyProblem(dto: Type, property: string, rules: readonly Rule[]): string | undefined {
  if (rules.length === 0) {
    return 'has no validation rule and would be removed from every request. Add one, such as @IsString(), or @Allow() for any value.';
  }
  const checks = rules.filter(({ type }) => type !== ValidationTypes.CONDITIONAL_VALIDATION);
  if (checks.length === 0) {
    return 'is optional and otherwise accepts any value. Add a rule, such as @IsString(), or @Allow() for any value.';
  }
  const declared: unknown = Reflect.getMetadata('design:type', dto.prototype as object, property);
  const isNested = checks.some(isNestedRule);
  const { options, typeFunction } = nestedTypeOf(dto, property) ?? {};
  if (typeFunction?.length === 0 && typeFunction() === Boolean) {
    return `has @Type(() => Boolean), which makes every text true. Use @Transform(({ value }) => value === 'true').`;
  }
  const isChosen = options?.discriminator !== undefined || (typeFunction?.length ?? 0) > 0;
  if (isNested && (isChosen || declared === Map || declared === Set)) {
    return 'is a Map, a Set or a choice of nested DTOs. Use one class, or an array of it: @Type(() => …).';
  }
  const hasDto = isDto(nestedClass(dto, property));
  if (isNested ? !hasDto : hasDto || isDto(declared)) {
    return 'needs @ValidateNested() and @Type(() => …) with a class that has a validation rule.';
  }
  const checksNoItem = ({ type, name = '', each }: Rule): boolean =>
    type === ValidationTypes.CUSTOM_VALIDATION && !each && ARRAY_RULES.test(name);
  if (declared === Array && checks.every(checksNoItem)) {
    return 'is an array whose items have no rule. Add one, such as @IsString({ each: true }), or @ValidateNested({ each: true }) and @Type(() => …).';
  }
  return undefined;
}

/** Returns the properties of a class that the compiler or `@ApiProperty()` makes known. */
function declaredProperties(dto: CompiledDto): string[] {
  const base = Object.getPrototypeOf(dto) as CompiledDto | null;
  const prototype = dto.prototype as object;
  const described: unknown = Reflect.getMetadata(DECORATORS.API_MODEL_PROPERTIES_ARRAY, prototype);
  return [
    ...(base?.prototype ? declaredProperties(base) : []),
    ...((described ?? []) as string[]).map((name) => name.slice(1)),
    ...Object.keys(dto._OPENAPI_METADATA_FACTORY?.() ?? {}),
  ];
}
