// Routes that wait for something other than the database, or whose responses are larger than the buffers of a connection.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import {
  Controller,
  Get,
  Module,
  Res,
  ServiceUnavailableException,
  Sse,
  StreamableFile,
} from '@nestjs/common';
import { Observable } from 'rxjs';
import { Public } from '../../../src/platform/http/request/public.decorator.js';

const NO_EVENTS = new Observable<object>(() => undefined);
const NEVER = new Promise(() => undefined);
const LARGE_BYTES = 16_777_216;
const TEXT = 'x'.repeat(LARGE_BYTES - 2);
const CHUNK = Buffer.alloc(65_536, 'x');

@Controller('slow')
class SlowController {
  private file: Readable | undefined;

  @Get('late-file')
  async lateFile(@Res({ passthrough: true }) response: ServerResponse) {
    // After the response deadline, the service itself responds.
    await once(response, 'finish');
    this.file = new Readable({ read: () => undefined });
    return new StreamableFile(this.file);
  }

  @Get('late-file/destroyed')
  isDestroyed() {
    return { isDestroyed: this.file?.destroyed };
  }

  @Get('never')
  never() {
    return NEVER;
  }

  @Get('forgotten')
  forgotten(@Res() _response: unknown) {
    return undefined;
  }

  @Get('upstream')
  upstream() {
    throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
  }

  @Get('payments')
  payments() {
    throw new ServiceUnavailableException('The payment provider is unavailable.');
  }

  @Sse('events')
  events() {
    return NO_EVENTS;
  }

  @Public()
  @Get('large')
  large() {
    return TEXT;
  }

  @Get('large-stream')
  largeStream() {
    return new StreamableFile(
      Readable.from(Array.from({ length: LARGE_BYTES / CHUNK.length + 1 }, () => CHUNK)),
    );
  }
}

@Module({ controllers: [SlowController] })
class SlowFeature {}
export default [SlowFeature];
