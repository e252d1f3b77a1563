import { PRODUCT } from '../product.js';
import type { DemoKey } from './http/openapi/demo-key.js';

/**
 * Returns the text that a service with the embedded database prints when it listens: a first request,
 * or how to issue an API key if there is no demo API key.
 */
export function welcomeText(address: string, { key, path }: DemoKey): string {
  // A client cannot call the address for all interfaces.
  const url = address.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:');
  const next =
    key === undefined
      ? `There is no valid demo API key. To issue an API key:

  npm run --silent cli -- keys issue --owner me --plan business`
      : `Try it:

  curl -H "Authorization: Bearer ${key}" ${url}${path}`;
  return `\n${PRODUCT.title}: ${url}\nDocumentation: ${url}/docs\n\n${next}\n`;
}
