/** Text that needs no escaping: no quotation mark, backslash, control character or surrogate. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

/** Serialized property names. The limit bounds the cache if a handler generates names. */
const nameTexts = new Map<string, string>();
const MAX_NAME_TEXTS = 1_000;

/**
 * Serializes a value as JSON (RFC 8259). Unlike `JSON.stringify`, it writes a bigint as an integer
 * with all digits. It omits undefined properties and calls `toJSON`, as `JSON.stringify` does.
 */
export function jsonText(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return stringText(value);
    case 'bigint':
      return value.toString();
    case 'object':
      return value === null ? 'null' : objectText(value);
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
  return Array.isArray(value) ? arrayText(value) : membersText(value as Record<string, unknown>);
}

function arrayText(items: readonly unknown[]): string {
  let text = '';
  for (const item of items) text += (text && ',') + jsonText(item);
  return `[${text}]`;
}

function membersText(value: Readonly<Record<string, unknown>>): string {
  let text = '';
  for (const name of Object.keys(value)) {
    const member = value[name];
    if (member === undefined || typeof member === 'function') continue;
    text += (text && ',') + nameText(name) + jsonText(member);
  }
  return `{${text}}`;
}

function nameText(name: string): string {
  let text = nameTexts.get(name);
  if (text === undefined) {
    text = `${stringText(name)}:`;
    if (nameTexts.size < MAX_NAME_TEXTS) nameTexts.set(name, text);
  }
  return text;
}

function stringText(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}
