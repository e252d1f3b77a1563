// Routes that read the request as a stream, or get files, as in the documentation of NestJS.
import {
  Body,
  Controller,
  createParamDecorator,
  Module,
  Post,
  Req,
  UploadedFile,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { Length } from 'class-validator';
import type { Request } from 'express';
import { Public } from '../../../src/platform/http/request/public.decorator.js';

const Incoming = createParamDecorator((_data, context) =>
  context.switchToHttp().getRequest<Request>(),
);

async function count(request: AsyncIterable<Buffer>) {
  let bytes = 0;
  for await (const chunk of request) bytes += chunk.length;
  return { bytes };
}

@Controller('raw-bodies')
class RawBodiesController {
  @Post('req')
  read(@Req() request: AsyncIterable<Buffer>) {
    return count(request);
  }

  @Post('decorator')
  readOther(@Incoming() request: AsyncIterable<Buffer>) {
    return count(request);
  }

  @Public()
  @Post('public')
  readPublic(@Req() request: AsyncIterable<Buffer>) {
    return count(request);
  }
}

class Photo {
  @Length(1, 20)
  title!: string;
}

@Controller('photos')
class PhotosController {
  @Post()
  @UseInterceptors(FileInterceptor('file', { limits: { fileSize: 600_000, parts: 3 } }))
  add(@UploadedFile() file: Express.Multer.File, @Body() { title }: Photo) {
    return { title, name: file.originalname, size: file.size };
  }
}

@Module({ controllers: [RawBodiesController, PhotosController] })
class BodiesFeature {}
export default [BodiesFeature];
