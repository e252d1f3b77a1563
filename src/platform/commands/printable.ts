/** Control characters, line separators and changes of the writing direction. */
export const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069]/gu;

/** Returns text that callers may have sent without characters that change what a terminal shows. */
export function printable(text: string): string {
  return text.replace(UNPRINTABLE, '\u{fffd}');
}
