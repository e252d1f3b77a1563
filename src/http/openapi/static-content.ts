import { entityTag, matchesEntityTag } from '../entity-tag.js';
import type { Request, Response } from '../request.js';
import { closeAfterUnreadBody } from '../unread-body.js';

/** Text or bytes that are the same for everybody, answered with an entity tag. */
export class StaticContent {
  readonly body: Buffer;
  private readonly tag: string;

  /** @param type the media type */
  constructor(
    private readonly type: string,
    body: string | Buffer,
  ) {
    this.body = Buffer.from(body);
    this.tag = entityTag(this.body);
  }

  /** Answers a GET or HEAD: 304 when the caller has it already. */
  send(request: Request, response: Response): void {
    closeAfterUnreadBody(request, response);
    response.setHeader('ETag', this.tag);
    response.setHeader('Cache-Control', 'no-cache');
    const ifNoneMatch = request.headers['if-none-match'];
    if (ifNoneMatch !== undefined && matchesEntityTag(ifNoneMatch, this.tag)) {
      response.statusCode = 304;
      response.end();
      return;
    }
    response.setHeader('Content-Type', this.type);
    response.setHeader('Content-Length', this.body.length);
    response.end(this.body);
  }
}
