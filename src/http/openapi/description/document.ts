import type { INestApplication } from '@nestjs/common';
import { type OpenAPIObject, type PathItemObject, SwaggerModule } from '@nestjs/swagger';
import type { BaseAddresses } from '../../../config/server-settings.js';
import { ERROR_CODES, isGeneric } from '../../../errors/catalogue.js';
import { DEPRECATION_EXTENSION } from '../../routing/deprecation.js';
import { TAG, type Tag } from '../decorators/api-tag.decorator.js';
import { type DecoratedOperation, describeOperation } from './describe-operation.js';
import { errorSchema, SHARED_RESPONSES } from './errors.js';
import { REQUEST_HEADERS, RESPONSE_HEADERS } from './headers.js';
import { serviceDescription } from './service-description.js';

const VERSION_PATH = '/v1';

// Not from a DocumentBuilder, which adds an empty contact.
const OUTLINE: Omit<OpenAPIObject, 'paths'> = {
  openapi: '3.0.3',
  info: {
    title: 'Animal Adoption Store Service',
    version: '1.0.0',
    contact: { name: 'The operator of this service' },
    license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
  },
  security: [{ apiKey: [] }],
  components: {
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'API key',
        description:
          'The API key: `aas_` and 36 letters and digits. The last six prove that this store issued it.',
      },
    },
  },
};

/** Returns what the decorators say about all routes. `app` does not need to be initialized. */
export function readRoutes(app: INestApplication): OpenAPIObject {
  return SwaggerModule.createDocument(app, OUTLINE);
}

/** Returns when the operations are removed, in milliseconds since the epoch. */
export function sunsetsOf(routes: OpenAPIObject): number[] {
  return Object.values(routes.paths).flatMap((pathItem) =>
    operationsOf(pathItem).map(([, operation]) => sunsetOf(operation)),
  );
}

/** Describes the interface as OpenAPI 3.0, without operations that are removed before `nowMs`. */
export function describeInterface(
  routes: OpenAPIObject,
  settings: BaseAddresses,
  nowMs: number,
): OpenAPIObject {
  const tags = new Map<string, Tag>();
  const paths: OpenAPIObject['paths'] = {};
  for (const [path, pathItem] of Object.entries(routes.paths)) {
    const operations = operationsOf(pathItem).filter(
      ([, operation]) => sunsetOf(operation) > nowMs,
    );
    if (operations.length === 0) continue;
    for (const [, { [TAG]: tag }] of operations) if (tag) tags.set(tag.name, tag);
    const isVersioned = path.startsWith(`${VERSION_PATH}/`);
    paths[isVersioned ? path.slice(VERSION_PATH.length) : path] = {
      ...(isVersioned ? {} : { servers: servers(settings, '') }),
      ...Object.fromEntries(
        operations.map(([method, operation]) => [method, describeOperation(method, operation)]),
      ),
    };
  }
  const pathsText = JSON.stringify(paths);
  const responses = used('responses', SHARED_RESPONSES, pathsText);
  const text = pathsText + JSON.stringify(responses);
  const codes = ERROR_CODES.filter((code) => !isGeneric(code) || text.includes(`"code":"${code}"`));
  return {
    openapi: routes.openapi,
    info: { ...routes.info, description: serviceDescription(codes) },
    servers: servers(settings, VERSION_PATH),
    security: routes.security ?? [],
    tags: [...tags.values()],
    paths,
    components: {
      ...routes.components,
      schemas: { ...routes.components?.schemas, Error: errorSchema(codes) },
      parameters: used('parameters', REQUEST_HEADERS, text),
      responses,
      headers: used('headers', RESPONSE_HEADERS, text),
    },
  };
}

/** Returns the components that a text in JSON refers to. */
function used<Component>(
  kind: string,
  components: Readonly<Record<string, Component>>,
  text: string,
): Record<string, Component> {
  const isUsed = ([name]: [string, Component]) => text.includes(`"#/components/${kind}/${name}"`);
  return Object.fromEntries(Object.entries(components).filter(isUsed));
}

function operationsOf(pathItem: PathItemObject) {
  return Object.entries(pathItem) as [string, DecoratedOperation][];
}

function sunsetOf({ [DEPRECATION_EXTENSION]: deprecation }: DecoratedOperation): number {
  return deprecation?.sunset.getTime() ?? Infinity;
}

function servers({ publicUrl, stagingUrl }: BaseAddresses, path: string) {
  const production =
    publicUrl === undefined
      ? { url: path || '/', description: 'This server' }
      : { url: publicUrl + path, description: 'Production' };
  if (stagingUrl === undefined) return [production];
  return [production, { url: stagingUrl + path, description: 'Staging' }];
}
