import { DEMO_OWNER } from './demo.js';

/**
 * Returns the text that a service with the embedded database prints when it listens. Without a
 * valid API key, it explains how to issue one.
 */
export function welcomeText(address: string, key: string | null): string {
  // A client cannot call the address for all interfaces.
  const url = address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  // The Windows command line does not support single quotes.
  const quote = process.platform === 'win32' ? '"' : "'";
  const next =
    key === null
      ? `There is no valid demo API key. To issue a new one:

  npm run cli -- keys issue --owner ${DEMO_OWNER}`
      : `Try it:

  curl -H ${quote}Authorization: Bearer ${key}${quote} ${url}/v1/pets`;
  return `\nThe animal adoption store: ${url}\nDocumentation: ${url}/docs\n\n${next}\n`;
}
