/** The NOTIFY channel for changes of API keys, plans and bans. */
export const KEY_CHANGES_CHANNEL = 'key_changes';

/** This owner, or one of its API keys, changed. */
export interface KeyChange {
  ownerId: bigint;
}

/** Returns the payload of a notification. */
export function keyChangePayload({ ownerId }: KeyChange): string {
  return ownerId.toString();
}

/** Parses the payload of a notification. undefined: invalid, so anything may have changed. */
export function parseKeyChange(payload: string): KeyChange | undefined {
  return /^\d{1,19}$/.test(payload) ? { ownerId: BigInt(payload) } : undefined;
}
