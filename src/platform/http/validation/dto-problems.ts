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

/** Rules that accept numbers only. `@IsInt64()` makes every integer a bigint. */
const NUMBER_RULES = /^(?:max|min|is(?:DivisibleBy|Int|Negative|Number|Positive))$/;

/**
 * Returns a sentence for each property of a DTO class that no request can set, or that accepts
 * values that its rules seem to reject, and for a class that cannot be created. Includes nested DTOs, except those in `checked`.
 *
 * @param isText whether all values are text, as in a query and a path
 */
export function dtoProblems(dto: Type, isText: boolean, checked = new Set<Type>()): string[] {
  if (checked.has(dto)) return [];
  checked.add(dto);
  try {
    new dto();
  } catch (error) {
    return [
      `the constructor of ${dto.name} fails without arguments (${(error as Error).message}). Remove its parameters.`,
    ];
  }
  const { byProperty } = rulesOf(dto);
  const properties = new Set([...Object.keys(byProperty), ...declaredProperties(dto)]);
  return [...properties].flatMap((property) => {
    const problem = propertyProblem(dto, property, byProperty[property] ?? [], isText);
    if (problem !== undefined) return [`${dto.name}.${property} ${problem}`];
    const nested = nestedClass(dto, property);
    return isDto(nested) ? dtoProblems(nested, isText, checked) : [];
  });
}

function propertyProblem(
  dto: Type,
  property: string,
  rules: readonly Rule[],
  isText: boolean,
): string | undefined {
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
  if (isText && typeFunction?.length === 0 && typeFunction() === Number) {
    return 'has @Type(() => Number), which reads an empty text as 0, 0x10 as 16, and rounds. Use @IsIntegerParameter(…), or for a decimal, @IsDecimal() and a string.';
  }
  const isInt64 = checks.some(({ name }) => name === 'isInt64');
  const numberRule = checks.find(({ name = '' }) => NUMBER_RULES.test(name))?.name;
  if (isInt64 && numberRule !== undefined) {
    const decorator = `@${numberRule.charAt(0).toUpperCase()}${numberRule.slice(1)}()`;
    return `has ${decorator}, which rejects every bigint. Use the range of @IsInt64(minimum, maximum).`;
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
