import { isBigIntObject, isBoxedPrimitive } from 'node:util/types';
import { type NextPage, Page } from './page.js';

/** Text that needs no escaping: no quotation mark, backslash, control character or surrogate. */
const PLAIN = /^[ !#-[\]-\ud7ff\ue000-\uffff]*$/;

/** Serialized property names. The limit bounds the cache if a handler generates names. */
const nameTexts = new Map<string, string>();
const MAX_NAME_TEXTS = 1_000;

/**
 * Serializes a value as JSON (RFC 8259). Unlike `JSON.stringify`, it writes a bigint as an integer
 * with all digits, and a value that has no JSON, such as undefined, as null. It does not know
 * `JSON.rawJSON`.
 *
 * @param next gets the positions that follow the pages in the value
 */
export function jsonText(value: unknown, next: NextPage[] = []): string {
  return memberText(value, '', next) ?? 'null';
}

/** Returns undefined for a value that has no JSON. The name is for `toJSON`. */
function memberText(value: unknown, name: string | number, next: NextPage[]): string | undefined {
  if (typeof value === 'string') return stringText(value);
  if (typeof value === 'bigint') return value.toString();
  const isObject = (typeof value === 'object' && value !== null) || typeof value === 'function';
  return isObject ? objectText(value, name, next) : JSON.stringify(value);
}

function objectText(object: object, name: string | number, next: NextPage[]): string | undefined {
  const { toJSON } = object as { toJSON?: unknown };
  const value: unknown = typeof toJSON === 'function' ? toJSON.call(object, String(name)) : object;
  if (typeof value === 'function') return undefined;
  if (typeof value !== 'object' || value === null) return memberText(value, name, next);
  if (Array.isArray(value)) return arrayText(value, next);
  // The comparison is faster, and rules out ordinary objects.
  if (value.valueOf !== Object.prototype.valueOf && isBoxedPrimitive(value))
    return isBigIntObject(value) ? String(value) : JSON.stringify(value);
  return membersText(value as Record<string, unknown>, next);
}

function arrayText(items: readonly unknown[], next: NextPage[]): string {
  if (items instanceof Page && items.next) next.push(items.next);
  let text = '';
  for (let index = 0; index < items.length; index++)
    text += (text && ',') + (memberText(items[index], index, next) ?? 'null');
  return `[${text}]`;
}

function membersText(value: Readonly<Record<string, unknown>>, next: NextPage[]): string {
  let text = '';
  for (const name of Object.keys(value)) {
    const member = memberText(value[name], name, next);
    if (member !== undefined) text += (text && ',') + nameText(name) + member;
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
