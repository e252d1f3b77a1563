import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** The codings of static content, most preferred first. */
const ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Higher qualities take far longer for little gain. */
const BROTLI_QUALITY = 9;

/**
 * Returns the acceptable coding with the highest weight (RFC 9110, section 12.5.3). Returns
 * `identity` when no other coding is acceptable, even if the client excludes it.
 *
 * @param acceptEncoding the value of the header, undefined when the request has none
 */
export function chooseEncoding(acceptEncoding: string | undefined): Encoding {
  const weights = parseWeights(acceptEncoding ?? '');
  let chosen: Encoding = 'identity';
  let highest = 0;
  for (const encoding of ENCODINGS) {
    const weight = weights.get(encoding) ?? weights.get('*') ?? 0;
    if (weight > highest) [chosen, highest] = [encoding, weight];
  }
  return chosen;
}

/** Encode content outside of the event loop. */
export const ENCODERS: Readonly<Record<Encoding, (content: Buffer) => Promise<Buffer>>> = {
  br: (content) =>
    promisify(brotliCompress)(content, {
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY },
    }),
  gzip: promisify(gzip),
  identity: (content) => Promise.resolve(content),
};

function parseWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', weight = 'q=1'] = item.split(';').map((part) => part.trim());
    // An invalid weight makes the coding unacceptable.
    weights.set(
      coding,
      /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight) ? Number(weight.slice(2)) : 0,
    );
  }
  return weights;
}
