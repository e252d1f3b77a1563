import type { INestApplication } from '@nestjs/common';
import { dump } from 'js-yaml';
import type { Clock } from '../../config/clock.js';
import type { BaseAddresses } from '../../config/server-settings.js';
import { describeInterface, readRoutes, sunsetsOf } from './description/document.js';
import { StaticContent } from './static-content.js';

/** Publishes each operation until its sunset. Caches the texts until an operation is removed. */
export class PublishedDescription {
  private readonly routes;
  private readonly sunsets;
  private cached: { removed: number; json: StaticContent; yaml: StaticContent } | undefined;

  constructor(
    app: INestApplication,
    private readonly addresses: BaseAddresses,
    private readonly clock: Clock,
  ) {
    this.routes = readRoutes(app);
    this.sunsets = sunsetsOf(this.routes);
  }

  /** Returns the description without the operations that are removed now, in both formats. */
  current(): { json: StaticContent; yaml: StaticContent } {
    const nowMs = this.clock.now();
    const removed = this.sunsets.filter((sunset) => sunset <= nowMs).length;
    if (this.cached?.removed !== removed) {
      const json = JSON.stringify(describeInterface(this.routes, this.addresses, nowMs));
      const yaml = dump(JSON.parse(json), { lineWidth: -1 });
      this.cached = {
        removed,
        json: new StaticContent('application/json', json),
        // RFC 9512
        yaml: new StaticContent('application/yaml', yaml),
      };
    }
    return this.cached;
  }
}
