/** An answer whose body is JSON text already, sent byte for byte, with header fields of its own. */
export class SerializedJson {
  constructor(
    readonly text: string,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {}
}
