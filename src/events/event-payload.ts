/** A bigint in the text of a payload: JSON.parse would round a large integer. */
const BIGINT = '$bigint';

/** Writes a payload as JSON in which bigints are exact. Dates become text, as in all JSON. */
export function payloadText(payload: unknown): string {
  // undefined has no JSON text.
  return JSON.stringify(payload ?? null, (_name, value: unknown) =>
    typeof value === 'bigint' ? { [BIGINT]: value.toString() } : value,
  );
}

/** Reads a payload that `payloadText` wrote. */
export function parsePayload(text: string): unknown {
  return JSON.parse(text, (_name, value: unknown) => {
    const digits = (value as Record<string, unknown> | null)?.[BIGINT];
    return typeof digits === 'string' ? BigInt(digits) : value;
  }) as unknown;
}
