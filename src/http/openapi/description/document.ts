import type { INestApplication } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule, type OpenAPIObject } from '@nestjs/swagger';
import type { BaseAddresses } from '../../../config/server-settings.js';
import { ErrorBody } from '../error.dto.js';
import { TAG, type Tag } from '../decorators/api-tag.decorator.js';
import { COMMON_RESPONSES } from './common-responses.js';
import { describeDeprecation } from './describe-deprecation.js';
import { describeIdempotency } from './describe-idempotency.js';
import { describePipeline } from './describe-pipeline.js';
import {
  type Operation,
  operationsOf,
  type PathItem,
  type Reference,
  type Schema,
} from './openapi-types.js';
import { REQUEST_HEADERS } from './request-headers.js';
import { headerComponents } from './response-headers.js';
import { SERVICE_DESCRIPTION } from './service-description.js';

const VERSION_PATH = '/v1';

/** Which base addresses the description names. */

/**
 * Describes every operation of the application's modules, deprecated ones included, as OpenAPI 3.0. The
 * modules have to be loaded; they need not be initialised.
 */
export function describeInterface(app: INestApplication, settings: BaseAddresses): OpenAPIObject {
  const document = SwaggerModule.createDocument(app, outline(), {
    extraModels: [ErrorBody],
  });
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
    info: withoutContact(document.info),
    servers: servers(settings, VERSION_PATH),
    security: document.security ?? [],
    tags: [...tags.values()],
    paths,
    components: {
      ...document.components,
      schemas: mapValues(document.components?.schemas ?? {}, withTypesFirst),
      parameters: REQUEST_HEADERS,
      responses: COMMON_RESPONSES,
      headers: headerComponents(JSON.stringify([paths, COMMON_RESPONSES])),
    },
  };
}

/** The order of members must not depend on the compiler: its plugin for @nestjs/swagger changes it. */
function withTypesFirst(schema: Schema | Reference): Schema | Reference {
  if ('$ref' in schema) return schema;
  const { type, properties, ...rest } = schema;
  return {
    ...(type !== undefined && { type }),
    ...(properties && { properties: mapValues(properties, withTypesFirst) }),
    ...rest,
  };
}

function mapValues<Value>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Value,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

/** The builder leaves an empty contact. */
function withoutContact({
  contact: _contact,
  ...info
}: OpenAPIObject['info']): OpenAPIObject['info'] {
  return info;
}

function outline(): Omit<OpenAPIObject, 'paths'> {
  return new DocumentBuilder()
    .setOpenAPIVersion('3.0.3')
    .setTitle('Animal Adoption Store Service')
    .setVersion('1.0.0')
    .setDescription(SERVICE_DESCRIPTION)
    .setLicense('MIT', 'https://opensource.org/license/mit')
    .addSecurity('apiKey', {
      type: 'http',
      scheme: 'bearer',
      bearerFormat: 'API key',
      description:
        'The API key, as it was issued: `aas_` and 36 letters and digits, the last six of which are a checksum.',
    })
    .addSecurityRequirements('apiKey')
    .build();
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

/** Completes the operations of a path. @param tags takes the tags that they are listed under */
function describePath(pathItem: PathItem, tags: Map<string, Tag>): PathItem {
  const operations = operationsOf(pathItem).map(([method, operation]) => {
    const listed = listedUnderTag(operation, tags);
    const described = describeIdempotency(describePipeline(method, listed));
    return [method, inReadingOrder(describeDeprecation(described))] as const;
  });
  return { ...pathItem, ...Object.fromEntries(operations) };
}

function listedUnderTag(operation: Operation, tags: Map<string, Tag>): Operation {
  const { [TAG]: tag, ...rest } = operation as Operation & { [TAG]?: Tag };
  if (!tag) return operation;
  tags.set(tag.name, tag);
  return { ...rest, tags: [tag.name] };
}

function inReadingOrder(operation: Operation): Operation {
  const { operationId, summary, description, deprecated, tags, ...rest } = operation;
  const first = { operationId, summary, description, deprecated, tags };
  const given = Object.entries(first).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), ...rest };
}
