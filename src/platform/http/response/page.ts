/** The query parameters of the next page. */
export type NextPage = Readonly<Record<string, string | readonly string[]>>;

/**
 * An array of items that knows where the next page begins. A response that contains it has a `Link`.
 * `map` and `filter` return a page too. Make any other copy with `new Page(items, page.next)`.
 */
export class Page<Item> extends Array<Item> {
  /** Private, so that a page equals the array of its items. */
  readonly #next: NextPage | undefined;

  /** @param next undefined for the last page. The methods of Array pass a length instead of items */
  constructor(items: readonly Item[] | number = 0, next?: NextPage) {
    super();
    this.#next = next;
    if (typeof items === 'number') return;
    // Unlike `push`, this costs nothing measurable.
    for (let index = 0; index < items.length; index++) this[index] = items[index] as Item;
  }

  get next(): NextPage | undefined {
    return this.#next;
  }
}

// Their declared types are arrays, from which `Promise.all` infers its result.
for (const name of ['map', 'filter'] as const) {
  Page.prototype[name] = function (this: Page<unknown>, ...parameters: [never]) {
    return new Page<never>(Array.prototype[name].apply(this, parameters) as never[], this.next);
  };
}
