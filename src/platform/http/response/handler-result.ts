// A handler returns a plain value, which is sent as JSON, or one of these.

/** One page of a list. The items are the body, and `next` becomes the `Link` header. */
export class Page<Item> {
  /** @param next the query parameters of the next page; undefined on the last page */
  constructor(
    readonly items: readonly Item[],
    readonly next?: Readonly<Record<string, string | readonly string[]>>,
  ) {}
}

/** A body that is JSON text already. It is sent byte for byte. */
export class SerializedJson {
  /**
   * @param text JSON, or '' for a response without a body
   * @param idempotencyKey the `Idempotency-Key` that the response is stored for, if it is stored
   */
  constructor(
    readonly text: string,
    readonly headers: Readonly<Record<string, string>> = {},
    readonly idempotencyKey?: string,
  ) {}
}
