import type { Type } from '@nestjs/common';
import { ValidationTypes } from 'class-validator';
import {
  isNestedRule,
  nestedClasses,
  type Rule,
  rulesOf,
  validatedProperties,
} from './dto-metadata.js';

/** Rules that check an array and none of its items. */
const ARRAY_RULES = /^(?:isArray|array(?:Contains|MaxSize|MinSize|NotContains|NotEmpty|Unique))$/;

/** The properties that `@ApiProperty()` describes, each with a colon in front. */
const DESCRIBED_PROPERTIES = 'swagger/apiModelPropertiesArray';

/** A class whose properties the compiler plugin of @nestjs/swagger lists. */
interface CompiledDto extends Type {
  _OPENAPI_METADATA_FACTORY?: () => object;
}

/** Returns whether a type is a class with a rule, or one that the swagger compiler plugin lists. */
export function isDto(type: unknown): type is Type {
  if (typeof type !== 'function') return false;
  return rulesOf(type as Type).length > 0 || '_OPENAPI_METADATA_FACTORY' in type;
}

/**
 * Returns a sentence for each property of a DTO class that no request can set, or that accepts any
 * value although it seems to have a rule. Includes nested DTOs, except those in `checked`.
 */
export function dtoProblems(dto: Type, checked = new Set<Type>()): string[] {
  if (checked.has(dto)) return [];
  checked.add(dto);
  const properties = new Set([...validatedProperties(dto), ...declaredProperties(dto)]);
  return [...properties].flatMap((property) => {
    const problem = propertyProblem(dto, property);
    if (problem !== undefined) return [`${dto.name}.${property} ${problem}`];
    const nested = nestedClasses(dto, property).filter(isDto);
    return nested.flatMap((type) => dtoProblems(type, checked));
  });
}

function propertyProblem(dto: Type, property: string): string | undefined {
  const rules = rulesOf(dto).filter(({ propertyName }) => propertyName === property);
  if (rules.length === 0) {
    return 'has no validation rule and would be removed from every request. Add one, such as @IsString(), or @Allow() for any value.';
  }
  const checks = rules.filter(({ type }) => type !== ValidationTypes.CONDITIONAL_VALIDATION);
  if (checks.length === 0) {
    return 'is optional and otherwise accepts any value. Add a rule, such as @IsString(), or @Allow() for any value.';
  }
  const declared = Reflect.getMetadata('design:type', dto.prototype as object, property) as unknown;
  const isNested = checks.some(isNestedRule);
  const hasDto = nestedClasses(dto, property).some(isDto);
  if (isNested ? !hasDto : hasDto || isDto(declared)) {
    return 'needs @ValidateNested() and @Type(() => …) with a class that has a validation rule.';
  }
  if (declared === Array && checks.every(checksOnlyTheArray)) {
    return 'is an array whose items have no rule. Add one, such as @IsString({ each: true }), or @ValidateNested({ each: true }) and @Type(() => …).';
  }
  return undefined;
}

function checksOnlyTheArray({ type, name = '', each }: Rule): boolean {
  return type === ValidationTypes.CUSTOM_VALIDATION && !each && ARRAY_RULES.test(name);
}

/** Returns the properties of a class that the compiler or `@ApiProperty()` makes known. */
function declaredProperties(dto: CompiledDto): string[] {
  const base = Object.getPrototypeOf(dto) as CompiledDto | null;
  const inherited = base?.prototype ? declaredProperties(base) : [];
  const described = Reflect.getMetadata(DESCRIBED_PROPERTIES, dto.prototype as object) as unknown;
  return [
    ...inherited,
    ...((described ?? []) as string[]).map((name) => name.slice(1)),
    ...Object.keys(dto._OPENAPI_METADATA_FACTORY?.() ?? {}),
  ];
}
