import { STATUS_CODES } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { type INestApplication, Injectable } from '@nestjs/common';
import {
  DocumentBuilder,
  type OpenAPIObject,
  type OperationObject,
  type ParameterObject,
  type ResponseObject,
  type SchemaObject,
  SwaggerModule,
} from '@nestjs/swagger';
import { dump } from 'js-yaml';
import { MAX_BODY_BYTES, MAX_BODY_VALUES } from '../../config/bounds.js';
import { Clock } from '../../config/clock.js';
import { Plans } from '../../config/plan-limits.js';
import type { Product } from '../../config/product.js';
import { Settings } from '../../config/settings.js';
import {
  codeOfStatus,
  invalidKeyMessage,
  malformedJsonMessage,
  payloadTooLargeMessage,
  SERVICE_CODES,
  UNSUPPORTED_EXPECT,
} from '../../errors/catalogue.js';
import { StartError } from '../../errors/start-error.js';
import type { BodyLimits } from '../body/body.guard.js';
import { headerComponents, headersOn, type Occasion, REQUEST_HEADERS } from '../request/headers.js';
import { DEFAULT_VERSION, ApiVersions } from '../routing/api-versions.js';
import { type ErrorExample, errorExample } from './api.decorators.js';

const VERSION_PATH = `/v${DEFAULT_VERSION}`;

const EVERY_OPERATION = [
  'invalid_request',
  'request_timeout',
  'rate_limit_exceeded',
  'api_key_banned',
  'headers_too_large',
  'internal_error',
  'service_unavailable',
];
const UNKNOWN_EXPECT = { code: 'invalid_request', message: UNSUPPORTED_EXPECT, status: 417 };
/** The guard of `@Deprecated()` has set its headers before a response with one of these statuses. */
const AFTER_DEPRECATION = [200, 201, 204, 304, 404, 410, 500, 503];
const CODE_DESCRIPTION =
  'For programs. Features and later releases add codes: handle an unknown one by its status.';

const CLIENT_GUIDE = 'Guide for client developers, with code: retries, paging, errors, generators';

/** Swagger UI shows it above the input of the API key. */
const API_KEY =
  'An API key that the operator of the service has issued. In a form, enter it without `Bearer`.';

function planTexts(plans: Plans): string[] {
  return plans.list().map(([plan, limits]) => {
    const numbers =
      limits && [limits.perMinute, limits.perDay].map((n) => n.toLocaleString('en-US'));
    return `${plan.charAt(0).toUpperCase()}${plan.slice(1)} ${numbers?.join(' and ') ?? 'custom'}`;
  });
}

/** Returns the introduction in Markdown. A paragraph is one line, because Swagger UI shows line breaks. */
const serviceDescription = ({ summary }: Product, plans: Plans): string =>
  `
${summary}

Requests and responses are JSON in UTF-8, including errors. Identifiers are 64-bit integers, and JavaScript's \`JSON.parse\` rounds those above 2^53.

**Authentication:** Send the API key as \`Authorization: Bearer <API_KEY>\`. A read-only API key allows only GET, HEAD and OPTIONS.

**Rate limits** of all API keys of an owner, per minute and per day: ${planTexts(plans).join(', ')}. After a 429 or 503, wait \`Retry-After\` seconds, then retry with exponential backoff. An API key that keeps sending requests over its limit is temporarily banned.

**Pagination:** Request the URL in the \`Link\` header with \`rel="next"\` unchanged, until a response has none.

**Methods:** HEAD returns the same as GET without the body. OPTIONS returns 204 with \`Allow\`. Responses to the origins that the operator lists have \`Access-Control-Allow-Origin\` and \`Access-Control-Expose-Headers\`.
`.trim();

/** The OpenAPI description in OpenAPI 3.0. It omits an operation from its removal date on. */
@Injectable()
export class OpenApiDescription {
  private routes!: OpenAPIObject;
  /** The ids of operations for which the feature declares none. */
  private readonly generatedIds = new Set<string>();
  /** The path of the base addresses. */
  private basePath = '';
  private published = { operations: -1, json: '', yaml: '' };

  constructor(
    private readonly settings: Settings,
    private readonly clock: Clock,
    private readonly versions: ApiVersions,
    private readonly plans: Plans,
  ) {}

  /** Reads the decorators of all routes. @throws StartError for two operations with one id */
  read(app: INestApplication): void {
    const { product } = this.settings;
    const outline = new DocumentBuilder()
      .setOpenAPIVersion('3.0.3')
      .setTitle(product.title)
      .setDescription(serviceDescription(product, this.plans))
      .setVersion(product.apiVersion)
      .setLicense('MIT', 'https://opensource.org/license/mit')
      .addBearerAuth({ type: 'http', bearerFormat: 'API key', description: API_KEY }, 'apiKey')
      .addSecurityRequirements('apiKey')
      .addGlobalParameters(REQUEST_HEADERS.requestId, REQUEST_HEADERS.traceParent);
    this.routes = SwaggerModule.createDocument(app, outline.build(), {
      operationIdFactory: (controller, method, version) => {
        const id = [controller, method, version].filter(Boolean).join('_');
        this.generatedIds.add(id);
        return id;
      },
    });
    const isOneVersion = Object.keys(this.routes.paths).every((path) =>
      path.startsWith(`${VERSION_PATH}/`),
    );
    // Many clients ignore the servers of a path, so all operations have the same ones.
    this.basePath = isOneVersion ? VERSION_PATH : '';
    const { publicUrl = '', stagingUrl, clientGuideUrl } = this.settings.server;
    const description = publicUrl ? 'Production' : 'This server';
    this.routes.servers = [{ url: publicUrl + this.basePath || '/', description }];
    if (stagingUrl)
      this.routes.servers.push({ url: stagingUrl + this.basePath, description: 'Staging' });
    const name = `Operator of the ${product.title}`;
    this.routes.info.contact = publicUrl ? { name, url: publicUrl } : { name };
    if (clientGuideUrl)
      this.routes.externalDocs = { description: CLIENT_GUIDE, url: clientGuideUrl };
    this.current();
  }

  /** Returns `json` and `yaml` (RFC 9512). They change when an operation is removed. */
  current(): Readonly<Record<'json' | 'yaml', string>> {
    const now = new Date(this.clock.now()).toISOString();
    const operations = Object.entries(this.routes.paths).flatMap(([path, item]) =>
      (Object.entries(item) as [string, OperationObject & { 'x-sunset'?: string }][])
        .filter(([, { 'x-sunset': sunset }]) => sunset === undefined || sunset > now)
        .map(([method, operation]) => ({ path, method, operation })),
    );
    if (this.published.operations !== operations.length) {
      const description = this.describe(operations);
      const yaml = dump(description, { lineWidth: -1, noRefs: true, skipInvalid: true });
      const json = JSON.stringify(description);
      this.published = { operations: operations.length, json, yaml };
    }
    return this.published;
  }

  /** Adds what every operation has. */
  private describe(
    operations: { path: string; method: string; operation: OperationObject }[],
  ): OpenAPIObject {
    const paths: Record<string, Record<string, unknown>> = {};
    const responses: Record<string, ResponseObject> = {
      NoSuchOperation: errorResponse([
        errorExample('route_not_found', this.versions.routeNotFoundMessage),
        errorExample('method_not_allowed'),
      ]),
    };
    const codes = new Set(SERVICE_CODES);
    const routes = new Map<string, string>();
    for (const { path, method, operation } of operations) {
      const item = (paths[path.slice(this.basePath.length)] ??= {});
      const described = this.describeOperation(method, operation, responses, codes);
      const route = `${method.toUpperCase()} ${path}`;
      let operationId = this.operationIdOf(path, operation);
      // A handler without an id of its own can serve several paths.
      if (this.generatedIds.has(operation.operationId ?? '')) {
        for (let count = 2; routes.has(operationId); count++)
          operationId = `${this.operationIdOf(path, operation)}_${count}`;
      }
      item[method] = { ...described, operationId };
      const other = routes.get(operationId);
      if (other)
        throw new StartError(`${other} and ${route}: both have the operationId ${operationId}`);
      routes.set(operationId, route);
    }
    const { openapi, info, externalDocs, servers = [], security = [], components } = this.routes;
    const schemas = { ...components?.schemas, Error: errorSchema([...codes]) };
    const added = {
      ...components,
      schemas,
      responses,
      headers: headerComponents(this.settings.product),
    };
    const tags = [...new Set(operations.flatMap(({ operation }) => operation.tags ?? []))];
    const names = tags.map((name) => ({ name }));
    return {
      openapi,
      info,
      ...(externalDocs && { externalDocs }),
      servers,
      security,
      tags: names,
      paths,
      components: added,
    };
  }

  /** Returns the id of an operation. It ends with the version, because a handler can serve several. */
  private operationIdOf(path: string, { operationId = '' }: OperationObject): string {
    const prefix = this.versions.prefixes.find((each) => path.startsWith(each)) ?? '';
    const version = prefix.replaceAll('/', '').toUpperCase();
    const hasVersion = prefix === `${VERSION_PATH}/` || operationId.toUpperCase().endsWith(version);
    return hasVersion ? operationId : operationId + version;
  }

  /**
   * Returns the operation with what every operation has: headers, 304 for reads, and the errors of the
   * guards and the server. Adds responses that operations share, by name, to `shared`, and the codes of
   * its errors to `allCodes`.
   */
  private describeOperation(
    method: string,
    operation: OperationObject,
    shared: Record<string, ResponseObject>,
    allCodes: Set<string>,
  ): OperationObject {
    const parameters = (operation.parameters ?? []) as ParameterObject[];
    const { security = [] } = operation;
    const { content } = (operation.requestBody ?? {}) as { content?: object };
    const { bytes = MAX_BODY_BYTES, values = MAX_BODY_VALUES } =
      (operation as { 'x-body-limits'?: BodyLimits })['x-body-limits'] ?? {};
    const isRead = method === 'get';
    const isDeprecated = 'x-sunset' in operation;
    const isIdempotent = parameters.some(
      ({ name }) => name === REQUEST_HEADERS.idempotencyKey.name,
    );
    const isPublic = security.some((scheme) => Object.keys(scheme).length === 0);
    const codes = [
      ...EVERY_OPERATION,
      ...(isPublic ? [] : ['missing_api_key', 'invalid_api_key']),
      ...(isRead ? [] : ['read_only_api_key']),
      ...(content ? ['payload_too_large'] : []),
      ...(content && 'application/json' in content
        ? ['malformed_json', 'unsupported_media_type']
        : []),
      ...(isIdempotent ? ['idempotency_key_in_progress', 'idempotency_key_reused'] : []),
      ...(parameters.some(({ name }) => name === 'If-Match') ? ['precondition_failed'] : []),
      ...(isDeprecated ? ['endpoint_removed'] : []),
    ];
    const messages: Record<string, string> = {
      invalid_api_key: invalidKeyMessage(this.settings.product.keyPrefix),
      malformed_json: malformedJsonMessage(values),
      payload_too_large: payloadTooLargeMessage(bytes),
    };
    const errors = codes.map((code) => errorExample(code, messages[code])).concat(UNKNOWN_EXPECT);
    const occasionsOf = (status: number, ...occasions: Occasion[]): Occasion[] =>
      isDeprecated && AFTER_DEPRECATION.includes(status) ? ['deprecated', ...occasions] : occasions;

    const responses: OperationObject['responses'] = {
      default: { $ref: '#/components/responses/NoSuchOperation' },
    };
    const ofFeature = operation.responses as Record<string, ResponseObject>;
    for (const [name, declared] of Object.entries(ofFeature)) {
      const status = Number(name);
      if (status >= 400) errors.push(...declaredErrors(status, declared));
      else {
        const kinds: Occasion[] = isRead ? ['read'] : isIdempotent ? ['idempotent'] : [];
        const headers = {
          ...headersOn(...occasionsOf(status, 'always', ...kinds)),
          ...declared.headers,
        };
        responses[name] = { ...declared, headers };
        if (isRead && status === 200) responses[304] = { description: 'Not changed.', headers };
      }
    }
    for (const { code } of errors) allCodes.add(code);
    for (const status of new Set(errors.map((error) => error.status))) {
      const ofStatus = errors.filter((error) => error.status === status);
      const response = errorResponse(ofStatus, ...occasionsOf(status));
      const name = STATUS_CODES[status]?.replaceAll(' ', '') ?? String(status);
      shared[name] ??= response;
      const isShared = isDeepStrictEqual(shared[name], response);
      responses[status] = isShared ? { $ref: `#/components/responses/${name}` } : response;
    }
    const described: OperationObject = {
      ...operation,
      ...(isDeprecated && { deprecated: true }),
      parameters: [...parameters, ...(isRead ? [REQUEST_HEADERS.ifNoneMatch] : [])],
      responses,
    };
    // @nestjs/swagger writes an empty summary for a route that has none, which OpenAPI validators reject.
    if (described.summary === '') delete described.summary;
    return described;
  }
}

/** Describes the body of every error response. */
function errorSchema(codes: string[]): SchemaObject {
  return {
    type: 'object',
    properties: {
      code: { type: 'string', enum: codes, description: CODE_DESCRIPTION },
      message: { type: 'string', description: 'For people. The wording can change.' },
      status: { type: 'integer', description: 'The HTTP status.' },
    },
    required: ['code', 'message', 'status'],
    additionalProperties: false,
  };
}

/** Returns the errors that `@ApiErrors()` or a decorator of @nestjs/swagger declares. */
function declaredErrors(status: number, { content, description }: ResponseObject): ErrorExample[] {
  const examples = Object.values(content?.['application/json']?.examples ?? {});
  if (examples.length > 0) return (examples as { value: ErrorExample }[]).map(({ value }) => value);
  return [
    { code: codeOfStatus(status), message: description || `${STATUS_CODES[status]}.`, status },
  ];
}

/** Describes an error response, with an example for each code. */
function errorResponse(errors: readonly ErrorExample[], ...on: Occasion[]): ResponseObject {
  const examples = Object.fromEntries(errors.map((value) => [value.code, { value }]));
  return {
    description: errors.map(({ message }) => message).join(' Or: '),
    headers: headersOn('always', ...on, ...Object.keys(examples)),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, examples } },
  };
}
