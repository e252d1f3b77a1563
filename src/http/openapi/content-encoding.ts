import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';

/** The codings of static content, most preferred first. */
const ENCODINGS = ['br', 'gzip', 'identity'] as const;
export type Encoding = (typeof ENCODINGS)[number];

/** Higher qualities take far longer for little gain. */
const BROTLI_PARAMS = { [constants.BROTLI_PARAM_QUALITY]: 9 };

/**
 * Returns the coding that `Accept-Encoding` prefers (RFC 9110, section 12.5.3). Returns `identity`
 * when no other coding is acceptable, even if the client excludes it.
 */
export function chooseEncoding(acceptEncoding = ''): Encoding {
  const weights = parseWeights(acceptEncoding);
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
  br: (content) => promisify(brotliCompress)(content, { params: BROTLI_PARAMS }),
  gzip: promisify(gzip),
  identity: (content) => Promise.resolve(content),
};

function parseWeights(acceptEncoding: string): Map<string, number> {
  const weights = new Map<string, number>();
  for (const item of acceptEncoding.toLowerCase().split(',')) {
    const [coding = '', weight = 'q=1'] = item.split(';').map((part) => part.trim());
    const isValid = /^q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)$/.test(weight);
    // An invalid weight makes the coding unacceptable.
    weights.set(coding, isValid ? Number(weight.slice(2)) : 0);
  }
  return weights;
}
