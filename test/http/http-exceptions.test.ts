import { join } from 'node:path';
import { ERRORS, type ErrorCode } from '../../src/platform/errors/catalogue.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { expectError } from '../harness/http/error-response.js';
import { startService, type TestService } from '../harness/service/service.js';

let service: TestService;
let client: ApiClient;

beforeAll(async () => {
  service = await startService({
    features: join(__dirname, '../harness/features/exceptions.mjs'),
  });
  client = new ApiClient(service, (await createOwner(service.database)).key);
});
afterAll(() => service.close());

/** Returns the exports of @nestjs/common whose name has an ending. */
async function exported(ending: 'Exception' | 'Pipe'): Promise<string[]> {
  const { json } = await client.get('/v1/exceptions/exports');
  return (json as string[]).filter((name) => name.endsWith(ending));
}

/** The code that each exception of NestJS gets. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  BadRequestException: 'invalid_request',
  UnauthorizedException: 'unauthorized',
  ForbiddenException: 'forbidden',
  NotFoundException: 'not_found',
  MethodNotAllowedException: 'method_not_allowed',
  NotAcceptableException: 'not_acceptable',
  RequestTimeoutException: 'request_timeout',
  ConflictException: 'conflict',
  GoneException: 'gone',
  PreconditionFailedException: 'precondition_failed',
  PayloadTooLargeException: 'payload_too_large',
  UnsupportedMediaTypeException: 'unsupported_media_type',
  ImATeapotException: 'im_a_teapot',
  MisdirectedException: 'misdirected',
  UnprocessableEntityException: 'unprocessable_entity',
  InternalServerErrorException: 'internal_error',
  NotImplementedException: 'not_implemented',
  BadGatewayException: 'bad_gateway',
  ServiceUnavailableException: 'service_unavailable',
  GatewayTimeoutException: 'gateway_timeout',
  HttpVersionNotSupportedException: 'http_version_not_supported',
};

it('every exception of NestJS has a code', async () => {
  const names = (await exported('Exception')).filter(
    (name) => !['HttpException', 'IntrinsicException'].includes(name),
  );
  expect(Object.keys(CODES).sort()).toEqual(names.sort());
});

describe.each(Object.entries(CODES))('GET of a route that throws %s › %s', (name, code) => {
  const { status, when } = ERRORS[code];
  const isInternal = status >= 500 && status !== 503;
  const withoutMessage =
    status === 503 ? 'The service is unavailable at the moment. Try again later.' : when;

  it.each([
    ['text', 'No such toy.'],
    ['object', 'No such toy.'],
    ['cause', 'No such toy.'],
    ['texts', 'name is too long; age must be positive.'],
    ['default', withoutMessage],
    ['silent', withoutMessage],
  ])(
    `${status} with the message of the feature, or one of the service if it is internal, %s`,
    async (form, message) => {
      const response = await client.get(`/v1/exceptions/thrown/${name}/${form}`);
      expect(expectError(response, status, code)).toBe(
        isInternal ? 'The service failed to handle the request.' : message,
      );
      expect(response.headers['retry-after']).toBe(status === 503 ? '2' : undefined);
    },
  );
});

it.each([
  [402, 'invalid_request'],
  [423, 'invalid_request'],
  [429, 'too_many_requests'],
  [507, 'internal_error'],
] as const)('GET of a route that throws an HttpException › %i %s', async (status, code) => {
  const response = await client.get(
    `/v1/exceptions/status/${status}/No such toy.`.replaceAll(' ', '%20'),
  );
  expect(expectError(response, status, code)).toBe(
    status < 500 ? 'No such toy.' : 'The service failed to handle the request.',
  );
});

it.each([
  'Validation failed for row 3',
  'Validation failed (row 3)',
  'Forbidden resource of another owner',
  'Cannot GET / of a toy that is sold',
  'item must be a number of the catalogue',
  'File is required for a sale',
])('GET of a route › 400 with a message that begins like one of NestJS: %s', async (message) => {
  const { json } = await client.get(`/v1/exceptions/status/400/${encodeURIComponent(message)}`);
  expect(json).toEqual({ status: 400, code: 'invalid_request', message });
});

it('GET of a route with a parsing pipe of NestJS › 400 with a message of the service', async () => {
  const names = (await exported('Pipe')).filter((name) => name.startsWith('Parse'));
  expect(names.length).toBeGreaterThan(7);
  for (const name of names) {
    const response = await client.get(`/v1/exceptions/pipes/${name}`);
    expect([name, expectError(response, 400, 'invalid_request')]).toEqual([
      name,
      ERRORS.invalid_request.when,
    ]);
  }
});

it('GET of a route whose guard returns false › 403 with a message of the service', async () => {
  const response = await client.get('/v1/closed');
  expect(expectError(response, 403, 'forbidden')).toBe(ERRORS.forbidden.when);
});
