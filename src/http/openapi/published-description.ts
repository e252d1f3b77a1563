import type { OpenAPIObject } from '@nestjs/swagger';
import { dump } from 'js-yaml';
import type { Clock } from '../../config/clock.js';
import { sunsetOf } from './description/describe-deprecation.js';
import { operationsOf, type PathItem } from './description/openapi-types.js';
import { StaticContent } from './static-content.js';

/** The interface description as text, in both formats. */
interface PublishedTexts {
  json: StaticContent;
  yaml: StaticContent;
}

/** Publishes each operation until its sunset. Caches the texts until an operation is removed. */
export class PublishedDescription {
  private readonly sunsets: readonly number[];
  private readonly published = new Map<number, PublishedTexts>();

  /** @param document all operations, including removed ones */
  constructor(
    private readonly document: OpenAPIObject,
    private readonly clock: Clock,
  ) {
    const operations = Object.values(document.paths).flatMap(operationsOf);
    this.sunsets = operations.map(([, operation]) => sunsetOf(operation));
  }

  /** Returns the description without the operations that are removed now. */
  current(): PublishedTexts {
    const nowMs = this.clock.now();
    const removed = this.sunsets.filter((sunset) => sunset <= nowMs).length;
    let texts = this.published.get(removed);
    if (!texts) {
      texts = textsOf(withoutRemoved(this.document, nowMs));
      this.published.set(removed, texts);
    }
    return texts;
  }
}

function textsOf(document: OpenAPIObject): PublishedTexts {
  return {
    json: new StaticContent('application/json', JSON.stringify(document)),
    // RFC 9512
    yaml: new StaticContent('application/yaml', dump(document, { noRefs: true, lineWidth: -1 })),
  };
}

/** Returns the document without removed operations and without paths that have no operation. */
function withoutRemoved(document: OpenAPIObject, nowMs: number): OpenAPIObject {
  const paths: OpenAPIObject['paths'] = {};
  for (const [path, pathItem] of Object.entries(document.paths)) {
    const removed = operationsOf(pathItem).filter(([, operation]) => sunsetOf(operation) <= nowMs);
    const methods = new Set(removed.map(([method]) => method));
    const remaining: PathItem = Object.fromEntries(
      Object.entries(pathItem).filter(([name]) => !methods.has(name)),
    );
    if (operationsOf(remaining).length > 0) paths[path] = remaining;
  }
  return { ...document, paths };
}
