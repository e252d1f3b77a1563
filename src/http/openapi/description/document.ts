import type { INestApplication } from '@nestjs/common';
import { SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { BaseAddresses } from '../../../config/server-settings.js';
import { TAG, type Tag } from '../decorators/api-tag.decorator.js';
import { ErrorBody } from '../error.dto.js';
import { COMMON_RESPONSES } from './common-responses.js';
import { describeDeprecation } from './describe-deprecation.js';
import { describeOperation } from './describe-operation.js';
import { type Operation, operationsOf, type PathItem } from './openapi-types.js';
import { REQUEST_HEADERS } from './request-headers.js';
import { headerComponents } from './response-headers.js';
import { SERVICE_DESCRIPTION } from './service-description.js';

const VERSION_PATH = '/v1';

// Not from a DocumentBuilder, which adds an empty contact.
const OUTLINE: Omit<OpenAPIObject, 'paths'> = {
  openapi: '3.0.3',
  info: {
    title: 'Animal Adoption Store Service',
    description: SERVICE_DESCRIPTION,
    version: '1.0.0',
    license: { name: 'MIT', url: 'https://opensource.org/license/mit' },
  },
  security: [{ apiKey: [] }],
  components: {
    securitySchemes: {
      apiKey: {
        type: 'http',
        scheme: 'bearer',
        bearerFormat: 'API key',
        description: 'The API key: `aas_` and 36 letters and digits. The last six are a checksum.',
      },
    },
  },
};

/**
 * Describes every operation of the application, including deprecated ones, as OpenAPI 3.0. The
 * application does not need to be initialized.
 */
export function describeInterface(app: INestApplication, settings: BaseAddresses): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, OUTLINE, { extraModels: [ErrorBody] });
  const tags = new Map<string, Tag>();
  const paths: OpenAPIObject['paths'] = {};
  for (const [path, pathItem] of Object.entries(document.paths)) {
    const isVersioned = path.startsWith(`${VERSION_PATH}/`);
    paths[isVersioned ? path.slice(VERSION_PATH.length) : path] = {
      ...(isVersioned ? {} : { servers: servers(settings, '') }),
      ...describePath(pathItem, tags),
    };
  }
  return {
    openapi: document.openapi,
    info: document.info,
    servers: servers(settings, VERSION_PATH),
    security: document.security ?? [],
    tags: [...tags.values()],
    paths,
    components: {
      ...document.components,
      parameters: REQUEST_HEADERS,
      responses: COMMON_RESPONSES,
      headers: headerComponents(JSON.stringify([paths, COMMON_RESPONSES])),
    },
  };
}

function servers(
  { publicUrl, stagingUrl }: BaseAddresses,
  path: string,
): NonNullable<OpenAPIObject['servers']> {
  const production =
    publicUrl === undefined
      ? { url: path || '/', description: 'This server' }
      : { url: publicUrl + path, description: 'Production' };
  if (stagingUrl === undefined) return [production];
  return [production, { url: stagingUrl + path, description: 'Staging' }];
}

/** Completes the operations of a path. @param tags collects the tags of the operations */
function describePath(pathItem: PathItem, tags: Map<string, Tag>): PathItem {
  const operations = operationsOf(pathItem).map(([method, operation]) => {
    const described = describeOperation(method, underTag(operation, tags));
    return [method, inReadingOrder(describeDeprecation(described))] as const;
  });
  return { ...pathItem, ...Object.fromEntries(operations) };
}

function underTag(operation: Operation, tags: Map<string, Tag>): Operation {
  const { [TAG]: tag, ...rest } = operation as Operation & { [TAG]?: Tag };
  if (!tag) return operation;
  tags.set(tag.name, tag);
  return { ...rest, tags: [tag.name] };
}

function inReadingOrder(operation: Operation): Operation {
  const { operationId, summary, description, deprecated, tags, ...rest } = operation;
  const first = { operationId, summary, description, deprecated, tags };
  const present = Object.entries(first).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(present), ...rest };
}
