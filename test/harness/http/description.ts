import { type ApiResponse, send } from './client.js';
import { schemaViolations, type Schema } from './json-schema.js';

/** Of the connection or of the content, not of the API. */
const TRANSPORT_HEADERS = new Set([
  'date',
  'connection',
  'keep-alive',
  'transfer-encoding',
  'content-type',
  'content-length',
]);

interface Reference {
  $ref: string;
}

interface HeaderObject {
  required?: boolean;
  schema: Schema;
}

export interface MediaType {
  schema: Schema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface ResponseObject {
  headers: Record<string, HeaderObject | Reference>;
  content?: Record<string, MediaType>;
}

export interface ParameterObject {
  name: string;
  description?: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  example?: unknown;
  schema: Schema & { example?: unknown };
}

export interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  deprecated?: boolean;
  tags: string[];
  security?: object[];
  parameters: (ParameterObject | Reference)[];
  requestBody?: { required: boolean; content: Record<string, MediaType> };
  responses: Record<string, ResponseObject | Reference>;
}

const METHODS = ['get', 'put', 'post', 'delete', 'patch'];

/** Looks into the OpenAPI description of a service. */
export class Description {
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- looked into by the tests
  constructor(readonly document: any) {}

  static async of(service: { port: number }): Promise<Description> {
    const { status, json } = await send(service, '/openapi.json');
    expect(status).toBe(200);
    return new Description(json);
  }

  readonly resolve = (ref: string): unknown =>
    ref
      .replace(/^#\//, '')
      .split('/')
      .reduce((node, name) => node[name], this.document);

  /** Returns the object itself, or what it refers to. */
  resolved<Value extends object>(object: Value | Reference): Value {
    return '$ref' in object ? (this.resolve(object.$ref) as Value) : object;
  }

  /** Returns the operations by method and path, such as `GET /pets`. */
  operations(): Map<string, Operation> {
    const paths = Object.entries<Record<string, Operation>>(this.document.paths);
    return new Map(
      paths.flatMap(([path, item]) =>
        METHODS.filter((method) => method in item).map((method) => [
          `${method.toUpperCase()} ${path}`,
          item[method]!,
        ]),
      ),
    );
  }

  operation(name: string): Operation {
    const operation = this.operations().get(name);
    if (!operation) throw new Error(`${name} is not described`);
    return operation;
  }

  response(operation: string, status: number): ResponseObject {
    const response = this.operation(operation).responses[status];
    if (!response) throw new Error(`${operation} does not describe status ${status}`);
    return this.resolved(response);
  }

  /** Expects a response of an operation to match its description. */
  expectAsDescribed(operation: string, status: number, response: ApiResponse): void {
    expect(response.status).toBe(status);
    expect(this.differences(response, this.response(operation, status))).toEqual([]);
  }

  violations(value: unknown, schema: Schema): string[] {
    return schemaViolations(value, schema, this.resolve);
  }

  /** Returns the differences between a response and its description. */
  differences(response: ApiResponse, { headers, content }: ResponseObject): string[] {
    const described = new Map(
      Object.entries(headers).map(([name, header]) => [name.toLowerCase(), this.resolved(header)]),
    );
    const differences: string[] = [];
    for (const [name, value] of Object.entries(response.headers)) {
      const header = described.get(name);
      if (header) {
        const read = header.schema.type === 'integer' ? Number(value) : value;
        differences.push(...schemaViolations(read, header.schema, this.resolve, name));
      } else if (!TRANSPORT_HEADERS.has(name)) differences.push(`${name} is not described`);
    }
    for (const [name, { required }] of described) {
      if (required && !(name in response.headers))
        differences.push(`${name} is described, but missing`);
    }
    const media = content?.['application/json'];
    if (media) differences.push(...this.violations(response.json, media.schema));
    else if (response.text !== '') differences.push('a body is not described');
    if (response.status >= 400 && !media?.examples?.[response.json?.code]) {
      differences.push(`${response.json?.code} has no example`);
    }
    return differences;
  }
}
