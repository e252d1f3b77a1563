import type { Type } from '@nestjs/common';
import { ValidationTypes } from 'class-validator';
import { isNestedRule, type Rule, rulesOf, typeMetadataOf } from './dto-metadata.js';

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
  return (
    rulesOf(type as Type).length > 0 ||
    (type as CompiledDto)._OPENAPI_METADATA_FACTORY !== undefined
  );
}

/**
 * Returns the properties of a DTO class that no request can set, or that accept any value although
 * they seem to have a rule: one sentence for each, which says what to do. Includes nested DTOs.
 *
 * @param checked the classes that need no second check
 */
export function dtoProblems(dto: Type, checked = new Set<Type>()): string[] {
  if (checked.has(dto)) return [];
  checked.add(dto);
  const rules = rulesOf(dto);
  const ruled = rules.map(({ propertyName }) => propertyName);
  return [...new Set([...ruled, ...declaredProperties(dto)])].flatMap((property) => {
    const problem = propertyProblem(
      dto,
      property,
      rules.filter(({ propertyName }) => propertyName === property),
    );
    if (problem !== undefined) return [`${dto.name}.${property} ${problem}`];
    return nestedClasses(dto, property)
      .filter(isDto)
      .flatMap((nested) => dtoProblems(nested, checked));
  });
}

function propertyProblem(dto: Type, property: string, rules: readonly Rule[]): string | undefined {
  if (rules.length === 0) {
    return 'has no validation rule and would be removed from every request. Add one, such as @IsString(), or @Allow() for any value.';
  }
  if (rules.every(({ type }) => type === ValidationTypes.CONDITIONAL_VALIDATION)) {
    return 'is optional and otherwise accepts any value. Add a rule, such as @IsString(), or @Allow() for any value.';
  }
  const declared = Reflect.getMetadata('design:type', dto.prototype as object, property) as unknown;
  const isNested = rules.some(isNestedRule);
  if (isNested) {
    const [nested] = nestedClasses(dto, property);
    if (!nested) return 'has @ValidateNested() and needs @Type(() => …) with the class.';
    if (rulesOf(nested).length > 0) return undefined;
    return `has the class ${nested.name}, which has no validation rule.`;
  }
  if (isDto(declared) || nestedClasses(dto, property).some(isDto)) {
    return 'is a DTO and needs @ValidateNested() and @Type(() => …) with the class.';
  }
  if (declared === Array && rules.every(checksOnlyTheArray)) {
    return 'is an array whose items have no rule. Add one, such as @IsString({ each: true }), or @ValidateNested({ each: true }) and @Type(() => …).';
  }
  return undefined;
}

function checksOnlyTheArray({ type, name = '', each }: Rule): boolean {
  if (type === ValidationTypes.CONDITIONAL_VALIDATION) return true;
  return type === ValidationTypes.CUSTOM_VALIDATION && !each && ARRAY_RULES.test(name);
}

/** Returns the classes that `@Type()` names for a property. */
function nestedClasses(dto: Type, property: string): Type[] {
  const metadata = typeMetadataOf(dto, property);
  if (!metadata?.typeFunction) return [];
  const type = metadata.typeFunction({ newObject: {}, object: {}, property }) as Type;
  const subTypes = metadata.options.discriminator?.subTypes.map(({ value }) => value as Type);
  return subTypes ?? [type];
}

/** Returns the properties of a class that the compiler or `@ApiProperty()` makes known. */
function declaredProperties(dto: CompiledDto): string[] {
  const base = Object.getPrototypeOf(dto) as CompiledDto | null;
  const inherited = base?.prototype ? declaredProperties(base) : [];
  const described = Reflect.getMetadata(DESCRIBED_PROPERTIES, dto.prototype as object) as
    string[] | undefined;
  return [
    ...inherited,
    ...(described ?? []).map((name) => name.slice(1)),
    ...Object.keys(dto._OPENAPI_METADATA_FACTORY?.() ?? {}),
  ];
}
