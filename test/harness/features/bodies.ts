// Routes that read the request as a stream, get files, or have limits of their own, as in the documentation of NestJS.
import { once } from 'node:events';
import {
  Body,
  Controller,
  createParamDecorator,
  Module,
  Post,
  Req,
  Res,
  UploadedFile,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { Type } from 'class-transformer';
import { ArrayMaxSize, IsBoolean, IsInt, IsString, Length, ValidateNested } from 'class-validator';
import type { Request, Response } from 'express';
import { BodyLimit } from '#platform';
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

class Row {
  @IsString()
  name!: string;

  @IsInt()
  size!: number;

  @IsBoolean()
  isNew!: boolean;
}

class Rows {
  @ArrayMaxSize(10_000)
  @ValidateNested({ each: true })
  @Type(() => Row)
  rows!: Row[];
}

@BodyLimit({ bytes: 1_000_000, values: 50_000 })
@Controller('imports')
class ImportsController {
  @Post()
  add(@Body() { rows }: Rows) {
    return { rows: rows.length, last: rows.at(-1)?.constructor.name };
  }

  @Post('few')
  @BodyLimit({ bytes: 1_000 })
  addFew(@Body() { rows }: Rows) {
    return { rows: rows.length };
  }

  @Post('held')
  async hold(@Body() _rows: Rows, @Res() response: Response) {
    await once(response, 'close');
  }

  @Post('raw')
  read(@Req() request: AsyncIterable<Buffer>) {
    return count(request);
  }
}

@Module({ controllers: [RawBodiesController, PhotosController, ImportsController] })
class BodiesFeature {}
export default [BodiesFeature];
