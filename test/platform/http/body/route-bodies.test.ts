import type { IncomingMessage } from 'node:http';
import { Body, Controller, Module, Post } from '@nestjs/common';
import { BodyLimit, Public } from '#platform';
import { OverloadMiddleware } from '../../../../src/platform/overload.middleware.js';
import { useDatabase } from '../../../harness/database/database.js';
import { createKey, createOwner } from '../../../harness/database/factories.js';
import { RawConnection, requestHead } from '../../../harness/http/raw-connection.js';
import { startTestingApp } from '../../../harness/service/testing-app.js';

@Controller('notes')
class NotesController {
  @Post()
  add(@Body() note: object) {
    return note;
  }

  @Public()
  @Post('public')
  addPublic(@Body() note: object) {
    return note;
  }
}

@Module({ controllers: [NotesController] })
class NotesModule {}

const BODY = '{"text":"Hello"}';
const JSON_TYPE = 'application/json';
const database = useDatabase();
const keys: Record<string, string> = { unknown: 'unknown' };
let overload: OverloadMiddleware;
let port: number;
/** The bytes of the body of the last request that Node's parser has passed on. */
let parsedBytes: number;

beforeAll(async () => {
  const env = { MAX_UNAUTHENTICATED_REQUESTS: '5', MAX_REQUESTS_IN_PROGRESS: '10' };
  const { app, url } = await startTestingApp({ database, features: [NotesModule], env });
  port = Number(new URL(url).port);
  overload = app.get(OverloadMiddleware);
  const { id, key } = await createOwner(database);
  Object.assign(keys, {
    valid: key,
    read: (await createKey(database, id, { access: 'read' })).key,
  });
  app.getHttpServer().on('request', (request: IncomingMessage) => {
    parsedBytes = 0;
    const push = request.push.bind(request);
    request.push = (chunk: Buffer | null) => {
      parsedBytes += chunk?.length ?? 0;
      return push(chunk);
    };
  });
});

/** Sends a head and its body at once. `inProgress` other requests are in progress. */
async function post(path: string, key?: string, type = JSON_TYPE, inProgress = 0) {
  const headers = [`Content-Type: ${type}`, `Content-Length: ${BODY.length}`];
  overload.inProgress += inProgress;
  const head = requestHead(`POST ${path}`, key && keys[key], ...headers);
  const { status, headers: sent } = await RawConnection.exchange({ port }, head + BODY);
  overload.inProgress -= inProgress;
  return { status, connection: sent['connection'], parsedBytes };
}

test.each([
  ['401 without an API key', 401, '/v1/notes', undefined, 0],
  ['401 with an unknown API key', 401, '/v1/notes', 'unknown', 0],
  ['401 without an API key, for a path without a route', 401, '/v1/nope', undefined, 0],
  ['503 without an API key, over a bound', 503, '/v1/notes', undefined, 5],
  ['503 with a valid API key, over a bound', 503, '/v1/notes', 'valid', 10],
])(
  'POST › %s: the body is not even parsed, and the connection closes',
  async (_title, status, path, key, inProgress) => {
    const expected = { status, connection: 'close', parsedBytes: 0 };
    expect(await post(path, key, JSON_TYPE, inProgress)).toEqual(expected);
  },
);

test.each([
  ['201 without an API key', 201, '/v1/notes/public', undefined, JSON_TYPE],
  ['201 with a valid API key', 201, '/v1/notes', 'valid', JSON_TYPE],
  ['403 with a read-only API key', 403, '/v1/notes', 'read', JSON_TYPE],
  ['404 with a valid API key', 404, '/v1/nope', 'valid', JSON_TYPE],
  ['415 with a valid API key', 415, '/v1/notes', 'valid', 'text/plain'],
])(
  'POST › %s: the connection stays open, because the body arrived with the head',
  async (_title, status, path, key, type) => {
    const expected = { status, connection: 'keep-alive', parsedBytes: BODY.length };
    expect(await post(path, key, type)).toEqual(expected);
  },
);

test.each([
  ['MAX_UPLOAD_MEBIBYTES', 2_000_000, 1],
  ['MAX_ARRIVING_MEBIBYTES', 2_000_000, 1],
  ['values', 10, 11],
  ['values', NaN, 1],
])(
  'the start rejects a @BodyLimit() that the service cannot keep: %s',
  async (name, bytes, values) => {
    @BodyLimit({ bytes, values })
    @Controller('imports')
    class LargeController {}
    @Module({ controllers: [LargeController] })
    class LargeModule {}
    const env = name === 'values' ? {} : { [name]: '1' };
    const start = startTestingApp({ database, features: [LargeModule], env });
    await expect(start).rejects.toThrow(
      /^LargeController: @BodyLimit\(\) accepts at most \d+ bytes .*$/,
    );
  },
);
