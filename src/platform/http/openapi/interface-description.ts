import { type INestApplication, Injectable } from '@nestjs/common';
import {
  DocumentBuilder,
  type OpenAPIObject,
  type OperationObject,
  type ResponseObject,
  type SchemaObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { dump } from 'js-yaml';
import { Clock } from '../../config/clock.js';
import { Settings } from '../../config/settings.js';
import { SERVICE_CODES } from '../../errors/catalogue.js';
import { HEADER_COMPONENTS, REQUEST_HEADERS } from '../request/headers.js';
import { errorExample } from './api.decorators.js';
import { describeOperation, errorResponse } from './describe-operation.js';
import { SERVICE_DESCRIPTION } from './service-description.js';
import { PRODUCT } from '../../../product.js';

const VERSION_PATH = '/v1';
const NO_SUCH_OPERATION = errorResponse(
  ['route_not_found', 'method_not_allowed'].map((code) => errorExample(code)),
);

/** The interface description in OpenAPI 3.0. It omits an operation from its removal date on. */
@Injectable()
export class InterfaceDescription {
  private routes!: OpenAPIObject;
  private texts: Record<string, string> = {};

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
  ) {}

  /** Reads the decorators of all routes. */
  read(app: INestApplication): void {
    const outline = new DocumentBuilder()
      .setOpenAPIVersion('3.0.3')
      .setTitle(PRODUCT.title)
      .setDescription(SERVICE_DESCRIPTION)
      .setVersion(PRODUCT.interfaceVersion)
      .setLicense('MIT', 'https://opensource.org/license/mit')
      .addBearerAuth({ type: 'http', bearerFormat: 'API key' }, 'apiKey')
      .addSecurityRequirements('apiKey')
      .addGlobalParameters(REQUEST_HEADERS.requestId, REQUEST_HEADERS.traceParent);
    const { publicUrl = '', stagingUrl } = this.settings.server;
    outline.addServer(publicUrl + VERSION_PATH, publicUrl ? 'Production' : 'This server');
    if (stagingUrl) outline.addServer(stagingUrl + VERSION_PATH, 'Staging');
    this.routes = SwaggerModule.createDocument(app, outline.build());
    this.current();
  }

  /** Returns `json` and `yaml` (RFC 9512). They change when an operation is removed. */
  current(): Record<string, string> {
    const now = new Date(this.clock.now()).toISOString();
    const operations = Object.entries(this.routes.paths).flatMap(([path, item]) =>
      (Object.entries(item) as [string, OperationObject & { 'x-sunset'?: string }][])
        .filter(([, { 'x-sunset': sunset }]) => sunset === undefined || sunset > now)
        .map(([method, operation]) => ({ path, method, operation })),
    );
    const published = String(operations.length);
    if (this.texts['operations'] !== published) {
      const description = this.describe(operations);
      const yaml = dump(description, { lineWidth: -1, noRefs: true, skipInvalid: true });
      this.texts = { operations: published, json: JSON.stringify(description), yaml };
    }
    return this.texts;
  }

  /** Adds what every operation has. */
  private describe(
    operations: { path: string; method: string; operation: OperationObject }[],
  ): OpenAPIObject {
    const paths: Record<string, Record<string, unknown>> = {};
    const responses: Record<string, ResponseObject> = { NoSuchOperation: NO_SUCH_OPERATION };
    for (const { path, method, operation } of operations) {
      const isVersioned = path.startsWith(`${VERSION_PATH}/`);
      const item = (paths[isVersioned ? path.slice(VERSION_PATH.length) : path] ??= {});
      if (!isVersioned) item['servers'] = [{ url: this.settings.server.publicUrl ?? '/' }];
      item[method] = describeOperation(method, operation, responses);
    }
    const declared = JSON.stringify([paths, responses]).matchAll(/"code":"(\w+)"/g);
    const codes = new Set([...SERVICE_CODES, ...Array.from(declared, ([, code = '']) => code)]);
    const { openapi, info, servers = [], security = [], components } = this.routes;
    const schemas = { ...components?.schemas, Error: errorSchema([...codes]) };
    const added = { ...components, schemas, responses, headers: HEADER_COMPONENTS };
    return { openapi, info, servers, security, paths, components: added };
  }
}

/** Describes the body of every error response. `code` is one of a closed set. */
function errorSchema(codes: string[]): SchemaObject {
  return {
    type: 'object',
    properties: {
      code: { type: 'string', enum: codes, description: 'For programs. The set is closed.' },
      message: { type: 'string', description: 'For people. The wording can change.' },
      status: { type: 'integer', description: 'The HTTP status.' },
    },
    required: ['code', 'message', 'status'],
    additionalProperties: false,
  };
}
