import type { INestApplication } from '@nestjs/common';
import type { OpenAPIObject } from '@nestjs/swagger';
import type { RequestHandler } from 'express';
import { dump } from 'js-yaml';
import type { Clock } from '../../config/clock.js';
import type { BaseAddresses } from '../../config/server-settings.js';
import { describeInterface, readRoutes, sunsetsOf } from './description/document.js';
import { textSender } from './text-sender.js';

/** Publishes each operation until its sunset. Creates the texts when an operation is removed. */
export class PublishedDescription {
  private readonly routes;
  private readonly sunsets;
  private published: { removed: number; json: RequestHandler; yaml: RequestHandler } | undefined;

  constructor(
    app: INestApplication,
    private readonly addresses: BaseAddresses,
    private readonly clock: Clock,
  ) {
    this.routes = readRoutes(app);
    this.sunsets = sunsetsOf(this.routes);
    this.current();
  }

  /** Returns the handlers that send the description without the operations that are removed now. */
  current(): { json: RequestHandler; yaml: RequestHandler } {
    const nowMs = this.clock.now();
    const removed = this.sunsets.filter((sunset) => sunset <= nowMs).length;
    if (this.published?.removed !== removed) {
      const description = describeInterface(this.routes, this.addresses, nowMs);
      this.published = {
        removed,
        json: textSender('application/json', JSON.stringify(description)),
        // RFC 9512
        yaml: textSender('application/yaml', toYaml(description)),
      };
    }
    return this.published;
  }
}

/** Returns the description in YAML, without properties that are undefined. */
export function toYaml(description: OpenAPIObject): string {
  return dump(JSON.parse(JSON.stringify(description)), { lineWidth: -1 });
}
