/** The channel on which changes of keys, plans and bans are notified. */
export const KEY_CHANGES_CHANNEL = 'key_changes';

/** What a notification says: something about this owner, or one of its keys, changed. */
export interface KeyChange {
  ownerId: bigint;
}

/** Returns the payload of a notification. */
export function keyChangePayload({ ownerId }: KeyChange): string {
  return ownerId.toString();
}

/** Reads the payload of a notification; undefined when it does not read: anything may have changed. */
export function parseKeyChange(payload: string): KeyChange | undefined {
  return /^\d{1,19}$/.test(payload) ? { ownerId: BigInt(payload) } : undefined;
}
