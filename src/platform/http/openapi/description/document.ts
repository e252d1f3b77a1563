import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { BaseAddresses } from '../../../config/server-settings.js';
import { ERROR_CODES, isGeneric } from '../../../errors/catalogue.js';
import { DEPRECATION_EXTENSION } from '../../routing/deprecation.js';
import {
  type DecoratedOperation,
  describeOperation,
  type Responses,
} from './describe-operation.js';
import { errorSchema } from './errors.js';
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './headers.js';
import { serviceDescription } from './service-description.js';

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
  const responses: Responses = {};
  for (const [path, pathItem] of Object.entries(routes.paths)) {
    const isVersioned = path.startsWith(`${VERSION_PATH}/`);
    for (const [method, operation] of Object.entries(pathItem) as [string, DecoratedOperation][]) {
      if (sunsetOf(operation) <= nowMs) continue;
      operation.tags?.forEach((tag) => tags.add(tag));
      const item = (paths[isVersioned ? path.slice(VERSION_PATH.length) : path] ??= {});
      if (!isVersioned) item['servers'] = servers(settings, '');
      item[method] = describeOperation(method, operation, responses);
    }
  }
  const text = JSON.stringify([paths, responses]);
  const codes = ERROR_CODES.filter((code) => !isGeneric(code) || text.includes(`"code":"${code}"`));
  // In the order in which people read it.
  return {
    openapi: routes.openapi,
    info: { ...routes.info, contact: CONTACT, description: serviceDescription(codes) },
    servers: servers(settings, VERSION_PATH),
    security: routes.security ?? [],
    tags: [...tags].map((name) => ({ name })),
    paths,
    components: {
      ...routes.components,
      schemas: { ...routes.components?.schemas, Error: errorSchema(codes) },
      parameters: REQUEST_HEADERS,
      responses,
      headers: RESPONSE_HEADERS,
    },
  };
}

function sunsetOf({ [DEPRECATION_EXTENSION]: deprecation }: DecoratedOperation): number {
  return deprecation?.sunset.getTime() ?? Infinity;
}

function servers({ publicUrl, stagingUrl }: BaseAddresses, path: string) {
  const production = publicUrl
    ? { url: publicUrl + path, description: 'Production' }
    : { url: path || '/', description: 'This server' };
  const staging = { url: `${stagingUrl}${path}`, description: 'Staging' };
  return stagingUrl ? [production, staging] : [production];
}
