import { hash } from 'node:crypto';

/** Returns a strong entity tag (RFC 9110, 8.8.3) of what identifies the representation. */
export function entityTag(representation: Buffer): string {
  return `"${hash('sha1', representation, 'base64url')}"`;
}

/** An entity tag of an `If-None-Match` list, its opaque part with the quotes captured. */
const LISTED_TAG = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;

/** Whether `If-None-Match` names the entity tag, by weak comparison (RFC 9110, 13.1.2). */
export function matchesEntityTag(ifNoneMatch: string, tag: string): boolean {
  if (ifNoneMatch.trim() === '*') return true;
  if (ifNoneMatch === tag) return true;
  for (const [, opaqueTag] of ifNoneMatch.matchAll(LISTED_TAG)) {
    if (opaqueTag === tag) return true;
  }
  return false;
}
