import { isDeepStrictEqual } from 'node:util';

/** A schema object of OpenAPI 3.0, as far as the service's description uses it. */
export interface Schema {
  $ref?: string;
  type?: string;
  nullable?: boolean;
  format?: string;
  enum?: unknown[];
  allOf?: Schema[];
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean;
  items?: Schema;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  pattern?: string;
  minimum?: number;
  maximum?: number;
}

const HAS_TYPE: Record<string, (value: unknown) => boolean> = {
  string: (value) => typeof value === 'string',
  integer: Number.isInteger,
  boolean: (value) => typeof value === 'boolean',
  array: Array.isArray,
  object: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
};

/**
 * Returns what of a value is not as its schema says, one line each.
 *
 * @param resolve returns what a `$ref` refers to
 */
export function schemaViolations(
  value: unknown,
  schema: Schema,
  resolve: (ref: string) => unknown,
  at = 'value',
): string[] {
  if (schema.$ref !== undefined) {
    return schemaViolations(value, resolve(schema.$ref) as Schema, resolve, at);
  }
  if (value === null && schema.nullable) return [];
  const violations = (schema.allOf ?? []).flatMap((part) =>
    schemaViolations(value, part, resolve, at),
  );
  const expect = (holds: boolean, what: string): void => {
    if (!holds) violations.push(`${at} is ${JSON.stringify(value)}, not ${what}`);
  };
  if (schema.type !== undefined) {
    expect(HAS_TYPE[schema.type]?.(value) ?? false, `of type ${schema.type}`);
  }
  if (schema.enum) {
    expect(
      schema.enum.some((allowed) => isDeepStrictEqual(allowed, value)),
      `one of ${JSON.stringify(schema.enum)}`,
    );
  }
  if (typeof value === 'string') {
    const length = [...value].length;
    expect(length >= (schema.minLength ?? 0), `at least ${schema.minLength} long`);
    expect(length <= (schema.maxLength ?? Infinity), `at most ${schema.maxLength} long`);
    expect(new RegExp(schema.pattern ?? '', 'u').test(value), `as ${schema.pattern}`);
  }
  if (typeof value === 'number') {
    expect(value >= (schema.minimum ?? -Infinity), `at least ${schema.minimum}`);
    expect(value <= (schema.maximum ?? Infinity), `at most ${schema.maximum}`);
  }
  if (Array.isArray(value)) {
    expect(value.length <= (schema.maxItems ?? Infinity), `at most ${schema.maxItems} items`);
    const { items } = schema;
    if (items) {
      value.forEach((item, index) => {
        violations.push(...schemaViolations(item, items, resolve, `${at}[${index}]`));
      });
    }
  } else if (typeof value === 'object' && value !== null) {
    violations.push(...memberViolations(value, schema, resolve, at));
  }
  return violations;
}

function memberViolations(
  object: object,
  { properties = {}, required = [], additionalProperties = true }: Schema,
  resolve: (ref: string) => unknown,
  at: string,
): string[] {
  const missing = required.filter((name) => !(name in object));
  const violations = missing.map((name) => `${at} has no ${name}`);
  for (const [name, member] of Object.entries(object)) {
    const schema = properties[name];
    if (schema) violations.push(...schemaViolations(member, schema, resolve, `${at}.${name}`));
    else if (!additionalProperties) violations.push(`${at} has a member ${name}`);
  }
  return violations;
}
