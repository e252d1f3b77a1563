/** A bigint in the text of a payload: JSON.parse would round a large integer. */
const BIGINT = '$bigint';
/** A member of a payload with such a name gets another `$` in the text. A client may have sent it. */
const LIKE_BIGINT = /^\$+bigint$/;

/** Writes a payload as JSON in which bigints are exact. Dates become text, as in all JSON. */
export function payloadText(payload: unknown): string {
  // undefined has no JSON text.
  return JSON.stringify(payload ?? null, (_name, value: unknown) =>
    typeof value === 'bigint'
      ? { [BIGINT]: value.toString() }
      : renamed(value, (name) => `$${name}`),
  );
}

/** Reads a payload that `payloadText` wrote. */
export function parsePayload(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    const digits = (value as Record<string, unknown> | null)?.[BIGINT];
    return typeof digits === 'string' ? BigInt(digits) : renamed(value, (name) => name.slice(1));
  }) as unknown;
}

/** Returns the value with other names of the members whose names look like that of a bigint. */
function renamed(value: unknown, rename: (name: string) => string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  if (!Object.keys(value).some((name) => LIKE_BIGINT.test(name))) return value;
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    LIKE_BIGINT.test(name) ? rename(name) : name,
    member,
  ]);
  return Object.fromEntries(members);
}
