/** One page of a list: the items are the body, the rest becomes the `Link` to the next page. */
export class Page<Item> {
  /**
   * @param items the page's items
   * @param next the query parameters of the next page, absent on the last one
   */
  constructor(
    readonly items: readonly Item[],
    readonly next?: Readonly<Record<string, string>>,
  ) {}
}

/** An answer whose body is JSON text already, sent byte for byte, with header fields of its own. */
export class SerializedJson {
  constructor(
    readonly text: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}
