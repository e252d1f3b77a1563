import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { BaseAddresses } from '../../../config/server-settings.js';
import { HEADER_COMPONENTS } from '../../request/headers.js';
import { DEPRECATION_EXTENSION } from '../../routing/deprecation.js';
import { type DecoratedOperation, describeOperation, type Shared } from './describe-operation.js';
import { errorSchema, publishedErrors } from './errors.js';
import { serviceDescription } from './service-description.js';
import { describeUploads } from './uploads.js';

const VERSION_PATH = '/v1';
const CONTACT = { name: 'The operator of this service' };
const OUTLINE = new DocumentBuilder()
  .setOpenAPIVersion('3.0.3')
  .setTitle('Animal Adoption Store Service')
  .setVersion('1.0.0')
  .setLicense('MIT', 'https://opensource.org/license/mit')
  .addBearerAuth({ type: 'http', bearerFormat: 'API key' }, 'apiKey')
  .addSecurityRequirements('apiKey')
  .build();

/** Returns what the decorators say about all routes. `app` does not need to be initialized. */
export function readRoutes(app: INestApplication): OpenAPIObject {
  describeUploads(app);
  return SwaggerModule.createDocument(app, OUTLINE);
}

/** Returns how many operations are removed at `nowMs`. */
export function removedAt({ paths }: OpenAPIObject, nowMs: number): number {
  const sunsets = Object.values(paths).flatMap((item) => Object.values(item).map(sunsetOf));
  return sunsets.filter((sunset) => sunset <= nowMs).length;
}

/** Describes the interface as OpenAPI 3.0, without operations that are removed before `nowMs`. */
export function describeInterface(
  routes: OpenAPIObject,
  settings: BaseAddresses,
  nowMs: number,
): OpenAPIObject {
  const tags = new Set<string>();
  const paths: Record<string, Record<string, unknown>> = {};
  const shared: Shared = { responses: {}, errors: [] };
  for (const [path, pathItem] of Object.entries(routes.paths)) {
    const isVersioned = path.startsWith(`${VERSION_PATH}/`);
    for (const [method, operation] of Object.entries(pathItem) as [string, DecoratedOperation][]) {
      if (sunsetOf(operation) <= nowMs) continue;
      operation.tags?.forEach((tag) => tags.add(tag));
      const item = (paths[isVersioned ? path.slice(VERSION_PATH.length) : path] ??= {});
      if (!isVersioned) item['servers'] = servers(settings, '');
      item[method] = describeOperation(method, operation, shared);
    }
  }
  const errors = publishedErrors(shared.errors);
  // In the order in which people read it.
  return {
    openapi: routes.openapi,
    info: { ...routes.info, contact: CONTACT, description: serviceDescription(errors) },
    servers: servers(settings, VERSION_PATH),
    security: routes.security ?? [],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      ...routes.components,
      schemas: { ...routes.components?.schemas, Error: errorSchema(errors) },
      responses: shared.responses,
      ...HEADER_COMPONENTS,
    },
  };
}

function sunsetOf({ [DEPRECATION_EXTENSION]: deprecation }: DecoratedOperation): number {
  return deprecation?.sunset.getTime() ?? Infinity;
}

function servers({ host, port, publicUrl, stagingUrl }: BaseAddresses, path: string) {
  // Tools that read the description from a file need an absolute address.
  const isLocal = ['127.0.0.1', 'localhost'].includes(host) && port !== 0;
  const local = isLocal ? `http://${host}:${port}${path}` : path || '/';
  const production = publicUrl
    ? { url: publicUrl + path, description: 'Production' }
    : { url: local, description: 'This server' };
  const staging = { url: `${stagingUrl}${path}`, description: 'Staging' };
  return stagingUrl ? [production, staging] : [production];
}
