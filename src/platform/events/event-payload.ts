/** A bigint is text with this prefix, because JSON.parse would round it. Such text gets another. */
const PREFIX = '$';

/** Writes a payload as JSON in which bigints are exact. Dates become text, as in all JSON. */
export function payloadText(payload: unknown): string {
  // undefined has no JSON text.
  return JSON.stringify(payload ?? null, (_name, value: unknown) =>
    typeof value === 'bigint' || isPrefixed(value) ? `${PREFIX}${value}` : value,
  );
}

/** Reads a payload that `payloadText` wrote. */
export function parsePayload(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    if (!isPrefixed(value)) return value;
    const rest = value.slice(PREFIX.length);
    return isPrefixed(rest) ? rest : BigInt(rest);
  }) as unknown;
}

function isPrefixed(value: unknown): value is string {
  return typeof value === 'string' && value.startsWith(PREFIX);
}
