import { type Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http';

/** A response, with its body as text and, if it is JSON, parsed. */
export interface ApiResponse {
  status: number;
  headers: IncomingHttpHeaders;
  /** Names as sent, in order, with repetitions. */
  rawHeaders: string[];
  text: string;
  /** The parsed body; numbers beyond 2^53 are rounded, look at `text` for those. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- tests look into whatever came
  json: any;
}

export interface RequestOptions {
  method?: string;
  headers?: Record<string, string | string[]>;
  body?: string | Buffer | undefined;
  /** Keeps connections. */
  agent?: Agent;
}

/**
 * Sends one request, without redirects and with only these headers.
 *
 * @param path is sent unchanged
 */
export function send(
  service: { port: number } | { url: string },
  path: string,
  { method = 'GET', headers = {}, body, agent }: RequestOptions = {},
): Promise<ApiResponse> {
  const port = 'port' in service ? service.port : Number(new URL(service.url).port);
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, method, headers, agent: agent ?? false };
    const request = httpRequest(options);
    request.on('error', reject);
    request.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('error', reject);
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        const isJson =
          response.headers['content-type']?.startsWith('application/json') &&
          response.headers['content-encoding'] === undefined &&
          text !== '';
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          rawHeaders: response.rawHeaders,
          text,
          json: isJson ? (JSON.parse(text) as unknown) : undefined,
        });
      });
    });
    request.end(body);
  });
}

/** A caller with a key. */
export class ApiClient {
  constructor(
    private readonly service: { port: number } | { url: string },
    private readonly key?: string,
  ) {}

  send(path: string, options: RequestOptions = {}): Promise<ApiResponse> {
    const authorization = this.key === undefined ? {} : { Authorization: `Bearer ${this.key}` };
    return send(this.service, path, {
      ...options,
      headers: { ...authorization, ...options.headers },
    });
  }

  get(path: string, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.send(path, { headers });
  }

  /** Posts JSON. @param body text as it is, or a value to be printed as JSON */
  post(path: string, body: unknown, headers: Record<string, string> = {}): Promise<ApiResponse> {
    return this.send(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...headers },
      body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
    });
  }
}
