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
  const { type, properties = {}, required = [], additionalProperties = true, items } = schema;
  const nested = (inner: unknown, part: Schema, place = at): string[] =>
    schemaViolations(inner, part, resolve, place);
  const violations = (schema.allOf ?? []).flatMap((part) => nested(value, part));
  const expect = (holds: boolean, what: string): void => {
    if (!holds) violations.push(`${at} is ${JSON.stringify(value)}, not ${what}`);
  };
  if (type !== undefined) expect(HAS_TYPE[type]?.(value) ?? false, `of type ${type}`);
  if (schema.enum) expect(schema.enum.includes(value), `one of ${JSON.stringify(schema.enum)}`);
  if (typeof value === 'string') {
    const length = [...value].length;
    expect(length >= (schema.minLength ?? 0), `at least ${schema.minLength} long`);
    expect(length <= (schema.maxLength ?? Infinity), `at most ${schema.maxLength} long`);
    expect(new RegExp(schema.pattern ?? '', 'u').test(value), `as ${schema.pattern}`);
  } else if (typeof value === 'number') {
    expect(value >= (schema.minimum ?? -Infinity), `at least ${schema.minimum}`);
    expect(value <= (schema.maximum ?? Infinity), `at most ${schema.maximum}`);
  } else if (Array.isArray(value)) {
    expect(value.length <= (schema.maxItems ?? Infinity), `at most ${schema.maxItems} items`);
    if (items)
      value.forEach((item, index) => violations.push(...nested(item, items, `${at}[${index}]`)));
  } else if (typeof value === 'object' && value !== null) {
    for (const name of required) if (!(name in value)) violations.push(`${at} has no ${name}`);
    for (const [name, member] of Object.entries(value)) {
      const part = properties[name];
      if (part) violations.push(...nested(member, part, `${at}.${name}`));
      else if (!additionalProperties) violations.push(`${at} has a member ${name}`);
    }
  }
  return violations;
}
