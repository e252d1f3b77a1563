// Routes that show how much of a request was parsed, and a route whose limits are settings.
import type { IncomingMessage, Server } from 'node:http';
import { Body, Controller, Get, Module, type OnModuleInit, Post } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { BodyLimit, Public, readSettings } from '#platform';

@Controller('notes')
class NotesController implements OnModuleInit {
  /** The bytes of the body of the last POST request that Node's parser has passed on. */
  private parsedBytes = 0;

  constructor(private readonly host: HttpAdapterHost) {}

  onModuleInit(): void {
    const server = this.host.httpAdapter.getHttpServer() as Server;
    server.on('request', (request: IncomingMessage) => {
      if (request.method !== 'POST') return;
      this.parsedBytes = 0;
      const push = request.push.bind(request);
      request.push = (chunk: Buffer | null) => {
        this.parsedBytes += chunk?.length ?? 0;
        return push(chunk);
      };
    });
  }

  @Get()
  read() {
    return { parsedBytes: this.parsedBytes };
  }

  @Post()
  add(@Body() note: object) {
    return note;
  }

  @Public()
  @Post('public')
  addPublic(@Body() note: object) {
    return note;
  }

  @Get('never')
  wait() {
    return new Promise(() => undefined);
  }
}

@Controller('large-notes')
class LargeNotesController {
  @Post()
  add(@Body() note: object) {
    return note;
  }
}

@Module({ controllers: [NotesController, LargeNotesController] })
class NotesFeature {
  constructor() {
    const { bytes, values } = readSettings((read) => ({
      bytes: Number(read.text('NOTE_BYTES', '1000')),
      values: Number(read.text('NOTE_VALUES', '1')),
    }));
    BodyLimit({ bytes, values })(LargeNotesController);
  }
}
export default [NotesFeature];
