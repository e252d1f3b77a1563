/** The query parameters of the next page. */
export type NextPage = Readonly<Record<string, string | readonly string[]>>;

/**
 * The items of a page, and where the next one begins. A response whose JSON contains this array has a
 * `Link` to the next page. Interceptors see an array: what they `map` and `filter` is still a page.
 * Another copy of the items is one with `new Page(items, page.next)`.
 */
export class Page<Item> extends Array<Item> {
  /** Private, so that a page equals the array of its items. */
  readonly #next: NextPage | undefined;

  /** @param next undefined for the last page */
  constructor(items: Iterable<Item> = [], next?: NextPage) {
    super();
    for (const item of items) this.push(item);
    this.#next = next;
  }

  /** All other methods return ordinary arrays. */
  static override get [Symbol.species](): ArrayConstructor {
    return Array;
  }

  get next(): NextPage | undefined {
    return this.#next;
  }

  // The declared types are arrays, because `Promise.all` infers the type of its result from them.
  override map<Other>(
    ...parameters: [convert: (item: Item, index: number, items: Item[]) => Other, self?: unknown]
  ): Other[] {
    return new Page(super.map(...parameters), this.next);
  }

  override filter<Kept extends Item>(
    ...parameters: [isKept: (item: Item, index: number, items: Item[]) => unknown, self?: unknown]
  ): Kept[] {
    return new Page(super.filter(...parameters) as Kept[], this.next);
  }
}
