import { DEMO_OWNER } from './demo.js';

/**
 * Returns what the service on the embedded database says once it listens: where, and how to call it.
 *
 * @param address where it listens
 * @param key a key that works, or null to tell how to get one
 */
export function welcomeText(address: string, key: string | null): string {
  const url = reachable(address);
  return `
The animal adoption store is at ${url}, its documentation at ${url}/docs
${key === null ? howToGetKey() : howToCall(url, key)}
`;
}

function howToCall(url: string, key: string): string {
  // The Windows command line knows no single quotes.
  const quote = process.platform === 'win32' ? '"' : "'";
  return `Try it:

  curl -H ${quote}Authorization: Bearer ${key}${quote} ${url}/v1/pets`;
}

function howToGetKey(): string {
  return `There is no demo key that works. For a new one:

  npm run cli -- keys issue --owner ${DEMO_OWNER}`;
}

/** A server listens on all addresses, a client calls one. */
function reachable(address: string): string {
  return address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
}
