/**
 * Takes what a handler returns and returns it as JSON text (RFC 8259), bigints as integers in full:
 * `JSON.stringify` refuses them. Members that are undefined are left out; Dates and others with
 * `toJSON` print what that returns.
 */
export function jsonText(value: unknown): string {
  switch (typeof value) {
    case 'bigint':
      return value.toString();
    case 'object':
      return value === null ? 'null' : objectText(value);
    case 'string':
    case 'number':
    case 'boolean':
      return JSON.stringify(value);
    default:
      return 'null';
  }
}

function objectText(value: object): string {
  const { toJSON } = value as { toJSON?: () => unknown };
  if (typeof toJSON === 'function') return jsonText(toJSON.call(value));
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  let members = '';
  for (const [name, member] of Object.entries(value)) {
    if (member === undefined || typeof member === 'function') continue;
    members += `${members && ','}${JSON.stringify(name)}:${jsonText(member)}`;
  }
  return `{${members}}`;
}
