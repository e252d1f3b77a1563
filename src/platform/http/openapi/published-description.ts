import { gzipSync } from 'node:zlib';
import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { RequestHandler } from 'express';
import { dump } from 'js-yaml';
import type { Clock } from '../../config/clock.js';
import type { BaseAddresses } from '../../config/server-settings.js';
import { entityTag } from '../response/send-json.js';
import { describeInterface, readRoutes, removedAt } from './description/document.js';

/** Publishes each operation until its sunset. Creates the texts when an operation is removed. */
export class PublishedDescription {
  private readonly routes;
  private removed = -1;
  private handlers!: Record<'json' | 'yaml', RequestHandler>;

  constructor(
    app: INestApplication,
    private readonly addresses: BaseAddresses,
    private readonly clock: Clock,
  ) {
    this.routes = readRoutes(app);
    this.current();
  }

  /** Returns the handlers that send the description without the operations that are removed now. */
  current(): Record<'json' | 'yaml', RequestHandler> {
    const nowMs = this.clock.now();
    const removed = removedAt(this.routes, nowMs);
    if (this.removed === removed) return this.handlers;
    this.removed = removed;
    const description = describeInterface(this.routes, this.addresses, nowMs);
    const json = textSender('application/json', JSON.stringify(description));
    const yaml = textSender('application/yaml', toYaml(description));
    return (this.handlers = { json, yaml });
  }
}

/** Returns the description in YAML (RFC 9512), without properties that are undefined. */
export function toYaml(description: OpenAPIObject): string {
  return dump(JSON.parse(JSON.stringify(description)), { lineWidth: -1 });
}

/** Returns a handler that sends a text, compressed if the client accepts gzip, or responds 304. */
export function textSender(mediaType: string, text: string): RequestHandler {
  const plain = Buffer.from(text);
  const compressed = gzipSync(plain);
  // Weak, because both encodings have it.
  const tag = `W/${entityTag(plain)}`;
  return (request, response) => {
    const acceptsGzip = request.acceptsEncodings('gzip') !== false;
    if (acceptsGzip) response.setHeader('Content-Encoding', 'gzip');
    response.setHeader('Content-Type', mediaType);
    response.setHeader('ETag', tag);
    response.setHeader('Cache-Control', 'no-cache');
    response.vary('Accept-Encoding').send(acceptsGzip ? compressed : plain);
  };
}
