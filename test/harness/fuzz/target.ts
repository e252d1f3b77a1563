import { type ApiResponse } from '../http/client.js';
import { Description, type ResponseObject } from '../http/description.js';
import { ALL_ERRORS, expectError } from '../http/error-response.js';
import { createOwner } from '../database/factories.js';
import { isUncounted, PUBLIC_PATHS } from '../http/public-paths.js';
import { RawConnection } from '../http/raw-connection.js';
import { START_MS, startService, type TestService } from '../service/service.js';

/** Different from each other, so that a response shows which of the two budgets it describes. */
const OWNER_LIMIT = 1_000_000_000;
const ADDRESS_LIMIT = 999_999_999;

/** The clock does not advance, so that no window ends. */
const RESET = START_MS / 1_000 + 60;

/** Responses that every operation can have, by the name of their component. */
const GENERAL: Readonly<Record<number, string>> = {
  401: 'Unauthorized',
  404: 'NoSuchOperation',
  405: 'NoSuchOperation',
  417: 'ExpectationFailed',
};

/** A request before it is written to the socket. */
export interface FuzzRequest {
  method: string;
  target: string;
  /** Name and value, one byte for each character. */
  headers: readonly (readonly [name: string, value: string])[];
  body?: Buffer | undefined;
  /** Sends the body in chunks of this many bytes, without its length. */
  chunkBytes?: number | undefined;
}

/** The service, and checks that hold for all of its responses. */
export class Target {
  private connection: RawConnection | undefined;
  /** The request for the OpenAPI description is counted for the address. */
  private readonly remaining = new Map([[ADDRESS_LIMIT, ADDRESS_LIMIT - 1]]);

  private constructor(
    readonly service: TestService,
    readonly description: Description,
    readonly key: string,
  ) {}

  static async start(): Promise<Target> {
    const service = await startService({
      env: {
        ANONYMOUS_REQUESTS_PER_MINUTE: String(ADDRESS_LIMIT),
        BAN_AFTER_REJECTIONS: '0',
        LOG_LEVEL: 'warn',
      },
    });
    const limits = { perMinute: OWNER_LIMIT, perDay: 2 * OWNER_LIMIT };
    const { key } = await createOwner(service.database, { limits });
    return new Target(service, await Description.of(service), key);
  }

  /** Ends the service. @throws when it has logged a warning or an error */
  async close(): Promise<void> {
    this.connection?.close();
    const lines = this.service.logs();
    await this.service.close();
    expect(lines).toEqual([]);
  }

  authorized(request: FuzzRequest): Promise<ApiResponse> {
    const headers = [['Authorization', `Bearer ${this.key}`] as const, ...request.headers];
    return this.send({ ...request, headers });
  }

  /** Sends a request and checks its response. Requests are sent one after the other. */
  async send(request: FuzzRequest): Promise<ApiResponse> {
    const response = await this.exchange(request);
    // The service rejects an unknown Expect before routing.
    if (!isPublic(request) || response.status === 417) this.check(request, response);
    else if (!isUncounted(request.target)) this.checkCount(response);
    expect(response.status).toBeLessThan(500);
    return response;
  }

  private check(request: FuzzRequest, response: ApiResponse): void {
    this.checkCount(response);
    const described = this.described(request, response);
    if (response.status >= 400 && request.method !== 'HEAD') checkError(response);
    if (described === undefined) {
      expect([response.status, request.method]).toEqual([204, 'OPTIONS']);
    } else if (request.method !== 'HEAD') {
      expect(this.description.differences(response, described)).toEqual([]);
    }
  }

  /** Returns the documented response to a request: that of its operation, or a general one. */
  private described(request: FuzzRequest, response: ApiResponse): ResponseObject | undefined {
    const { status, json } = response;
    // A path that cannot be decoded matches no operation.
    const operation = json?.code === 'route_not_found' ? undefined : this.operationOf(request);
    if (operation !== undefined && status in this.description.operation(operation).responses) {
      return this.description.response(operation, status);
    }
    const ref = `#/components/responses/${GENERAL[status]}`;
    return status in GENERAL ? (this.description.resolve(ref) as ResponseObject) : undefined;
  }

  /** Every request is counted exactly once, for the owner or for the address. */
  private checkCount({ headers }: ApiResponse): void {
    const limit = Number(headers['x-ratelimit-limit']);
    const remaining = Number(headers['x-ratelimit-remaining']);
    const before = this.remaining.get(limit) ?? limit;
    this.remaining.set(limit, remaining);
    expect({ limit, remaining, reset: Number(headers['x-ratelimit-reset']) }).toEqual({
      limit: limit === OWNER_LIMIT ? OWNER_LIMIT : ADDRESS_LIMIT,
      remaining: before - 1,
      reset: RESET,
    });
  }

  /** Returns the documented operation of a request, such as `GET /items/{itemId}`. */
  private operationOf({ method, target }: FuzzRequest): string | undefined {
    const path = /^\/v1(\/[^?]*)/.exec(target)?.[1];
    if (path === undefined) return undefined;
    const name = method === 'HEAD' ? 'GET' : method;
    return [...this.description.operations().keys()].find((operation) => {
      const [described, template = ''] = operation.split(' ');
      const pattern = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/]+')}$`);
      return described === name && pattern.test(path);
    });
  }

  private async exchange(request: FuzzRequest): Promise<ApiResponse> {
    this.connection ??= await RawConnection.open(this.service);
    this.connection.write(bytesOf(request));
    const hasBody = request.method !== 'HEAD';
    const raw = await this.connection.response({ hasBody });
    if (raw.headers['connection'] === 'close') {
      this.connection.close();
      this.connection = undefined;
    }
    return asResponse(raw, hasBody);
  }
}

/**
 * Whether the request needs no API key. A target with a fragment is invalid and matches no route.
 */
export function isPublic({ method, target }: FuzzRequest): boolean {
  const [path = ''] = target.split('?');
  return ['GET', 'HEAD'].includes(method) && PUBLIC_PATHS.includes(path) && !target.includes('#');
}

/** Expects an Error body whose code has this status. */
function checkError(response: ApiResponse): void {
  const code = (response.json as { code: keyof typeof ALL_ERRORS }).code;
  expect(Object.keys(ALL_ERRORS)).toContain(code);
  const isExpectation = response.status === 417 && code === 'invalid_request';
  expectError(response, isExpectation ? 417 : ALL_ERRORS[code].status, code);
}

/** Returns a response that was read from a socket with its body parsed. */
export function asResponse(
  raw: { status: number; headers: Record<string, string>; text: string },
  isWhole = true,
): ApiResponse {
  const isJson = isWhole && raw.headers['content-type'] === 'application/json' && raw.text !== '';
  return { ...raw, rawHeaders: [], json: isJson ? (JSON.parse(raw.text) as unknown) : undefined };
}

function bytesOf({ method, target, headers, body, chunkBytes }: FuzzRequest): Buffer {
  const framing: [string, string][] =
    body === undefined
      ? []
      : [chunkBytes ? ['Transfer-Encoding', 'chunked'] : ['Content-Length', String(body.length)]];
  const lines = [['Host', 'pets'] as const, ...headers, ...framing].map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const head = Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1');
  if (body === undefined) return head;
  return Buffer.concat([head, chunkBytes ? chunked(body, chunkBytes) : body]);
}

function chunked(body: Buffer, chunkBytes: number): Buffer {
  const parts: Buffer[] = [];
  for (let start = 0; start < body.length; start += chunkBytes) {
    const chunk = body.subarray(start, start + chunkBytes);
    parts.push(Buffer.from(`${chunk.length.toString(16)}\r\n`), chunk, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}
