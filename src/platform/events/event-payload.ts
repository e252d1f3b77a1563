/** A bigint is text with this prefix, because JSON.parse would round it. Such text gets another. */
const PREFIX = '$';

/** Writes a payload as JSON in which bigints are exact. Dates become text, as in all JSON. */
export const payloadText = (payload: unknown): string =>
  JSON.stringify(payload ?? null, (_name, value: unknown) =>
    typeof value === 'bigint' || isPrefixed(value) ? `${PREFIX}${value}` : value,
  );

/** Reads a payload that `payloadText` wrote. */
export const parsePayload = (text: string): unknown =>
  JSON.parse(text, (_name, value: unknown) => {
    const rest = isPrefixed(value) && value.slice(PREFIX.length);
    return rest === false || isPrefixed(rest) ? rest || value : BigInt(rest);
  });

const isPrefixed = (value: unknown): value is string =>
  typeof value === 'string' && value.startsWith(PREFIX);
