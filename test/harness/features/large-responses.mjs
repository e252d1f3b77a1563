// @ts-check
// Routes whose responses are larger than the buffers of a connection.
import { Readable } from 'node:stream';
import { Controller, Get, StreamableFile } from '@nestjs/common';
import { decorate, feature } from './decorate.mjs';

const LARGE_BYTES = 16_777_216;

const TEXT = 'x'.repeat(LARGE_BYTES - 2);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- its method is defined below
class LargeController {}

const CHUNK = Buffer.alloc(65_536, 'x');
const chunks = () => Array.from({ length: LARGE_BYTES / CHUNK.length + 1 }, () => CHUNK);

/** @type {Record<string, () => unknown>} */
const ROUTES = { '': () => TEXT, stream: () => new StreamableFile(Readable.from(chunks())) };

for (const [path, handle] of Object.entries(ROUTES)) {
  Object.defineProperty(LargeController.prototype, `get${path}`, { value: handle });
  decorate(LargeController, `get${path}`, Get(path));
}
Controller('large')(LargeController);

export default [feature({ controllers: [LargeController] })];
