/** Text that stands in JSON as it is: without quotation mark, backslash, control characters and surrogates. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

/** Of the members that are written again and again; bounded, as a handler may make names up. */
const MAX_NAME_TEXTS = 1_000;
const nameTexts = new Map<string, string>();

/**
 * Takes what a handler returns and returns it as JSON text (RFC 8259), bigints as integers in full:
 * `JSON.stringify` refuses them. Members that are undefined are left out; Dates and others with
 * `toJSON` print what that returns.
 *
 * A list of 20 animals takes 1.4 times as long as `JSON.stringify` would, had they no bigints; by a call of that for
 * each name and text it took 2.6 times as long.
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
