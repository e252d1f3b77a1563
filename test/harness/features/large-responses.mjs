// @ts-check
// Routes whose responses are larger than the buffers of a connection.
import { Readable } from 'node:stream';
import { Controller, Get, Module, StreamableFile } from '@nestjs/common';

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
  const descriptor = /** @type {PropertyDescriptor} */ (
    Object.getOwnPropertyDescriptor(LargeController.prototype, `get${path}`)
  );
  Get(path)(LargeController.prototype, `get${path}`, descriptor);
}
Controller('large')(LargeController);

// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- a module is its decorator
class LargeModule {}
Module({ controllers: [LargeController] })(LargeModule);

export default [LargeModule];
