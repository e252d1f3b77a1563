import { entityTag, matchesEntityTag } from '../response/send-json.js';
import type { Request, Response } from '../request/request.js';
import { chooseEncoding, ENCODERS, type Encoding } from './content-encoding.js';

/** Images are already compressed. */
const COMPRESSIBLE = /^(?:text|application)\//;

/** Content that is the same for every caller. Each coding is computed once, on first use. */
export class StaticContent {
  readonly body: Buffer;
  private readonly representations = new Map<Encoding, Promise<{ body: Buffer; tag: string }>>();

  /** @param type the media type */
  constructor(
    private readonly type: string,
    body: string | Buffer,
  ) {
    this.body = Buffer.from(body);
  }

  /** Responds to GET or HEAD. The response is 304 if the caller already has this representation. */
  async send(request: Request, response: Response): Promise<void> {
    const encoding = this.encodingFor(request, response);
    const { body, tag } = await this.representation(encoding);
    response.setHeader('ETag', tag);
    if (!response.hasHeader('cache-control')) response.setHeader('Cache-Control', 'no-cache');
    const ifNoneMatch = request.headers['if-none-match'];
    if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, tag)) {
      response.statusCode = 304;
      response.end();
      return;
    }
    if (encoding !== 'identity') response.setHeader('Content-Encoding', encoding);
    response.setHeader('Content-Type', this.type);
    response.setHeader('Content-Length', body.length);
    response.end(body);
  }

  private encodingFor(request: Request, response: Response): Encoding {
    if (!COMPRESSIBLE.test(this.type)) return 'identity';
    response.vary('Accept-Encoding');
    return chooseEncoding(request.get('accept-encoding'));
  }

  private representation(encoding: Encoding) {
    const cached = this.representations.get(encoding);
    if (cached) return cached;
    const encoded = ENCODERS[encoding](this.body).then((body) => ({ body, tag: entityTag(body) }));
    this.representations.set(encoding, encoded);
    return encoded;
  }
}
