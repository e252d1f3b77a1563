import { hash } from 'node:crypto';

/**
 * Returns the strong entity tag (RFC 9110, section 8.8.3) of a representation: of its bytes, and of the
 * `Link` to the next page.
 */
export function entityTag(body: string | Uint8Array, link = ''): string {
  const prefix = `${link}\n`;
  const bytes =
    typeof body === 'string' ? prefix + body : Buffer.concat([Buffer.from(prefix), body]);
  return `"${hash('sha1', bytes, 'base64url')}"`;
}

/** A tag in a list. A quoted one can contain commas. */
const LISTED_TAG = /(?:^|,)\s*(?:W\/)?("[^"]*"|[^\s",]+)\s*(?=,|$)/g;

/** Returns whether `If-None-Match` lists the tag, by weak comparison (RFC 9110, section 13.1.2). */
export function isListed(ifNoneMatch: string | undefined, tag: string | undefined): boolean {
  if (ifNoneMatch === undefined || tag === undefined) return false;
  const opaque = tag.replace(/^W\//, '');
  const listed = [...ifNoneMatch.matchAll(LISTED_TAG)].map(([, text]) => text);
  return ifNoneMatch === '*' || listed.includes(opaque);
}
