import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type EnvironmentReader, readSettings } from './environment-reader.js';

const PEM_BLOCKS = /(?=-----BEGIN )/;
const COMPLETE_BLOCK = /^-----BEGIN ([^-\n]+)-----[^]*?-----END \1-----/;

/**
 * Returns a function that reads settings again, because another program may renew their files: certificates,
 * keys and passwords. While a file is missing, half written or invalid, it returns the last valid settings, and
 * logs the reason once.
 *
 * @param current the settings that were read at the start
 */
export function renewedSettings<Result>(
  read: EnvironmentReader,
  settings: (read: EnvironmentReader) => Result,
  current: Result,
): () => Result {
  let reported: string | undefined;
  return () => {
    try {
      current = readSettings(settings, read.environment);
      reported = undefined;
    } catch (error) {
      const { message } = error as Error;
      if (message !== reported) void warn(`${message}. The last valid value stays in use.`);
      reported = message;
    }
    return current;
  };
}

async function warn(text: string): Promise<void> {
  // Loaded on demand: the embedded database starts before NestJS is loaded.
  const { Logger } = await import('@nestjs/common');
  new Logger(renewedSettings.name).warn(text);
}

/** The texts of files in PEM. */
interface TlsFiles {
  readonly ca?: unknown;
  readonly cert?: unknown;
  readonly key?: unknown;
}

/** @throws Error unless the certificates are complete and the private key belongs to its certificate */
export function checkTlsFiles({ ca, cert, key }: TlsFiles): void {
  if (typeof ca === 'string') checkCertificates(ca);
  if (typeof cert === 'string') checkCertificates(cert);
  if (typeof key !== 'string') return;
  const privateKey = createPrivateKey(key);
  if (typeof cert === 'string' && !new X509Certificate(cert).checkPrivateKey(privateKey))
    throw new Error('the private key does not belong to the certificate');
}

/** Node.js ignores an authority that is half written. @throws Error unless every certificate is complete */
function checkCertificates(text: string): void {
  const [, ...blocks] = `\n${text}`.split(PEM_BLOCKS);
  if (blocks.length === 0) throw new Error('no certificate in PEM');
  for (const block of blocks) {
    const [complete, type] = COMPLETE_BLOCK.exec(block) ?? [];
    if (!complete) throw new Error('a certificate is not complete');
    if (type?.endsWith('CERTIFICATE')) new X509Certificate(complete);
  }
}
