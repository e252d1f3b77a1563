import {
  BadRequestException,
  Controller,
  Module,
  Post,
  UploadedFile,
  UseInterceptors,
} from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';

@Controller('photos')
export class PhotosController {
  @Post()
  // Without it, letters of `originalname` outside ASCII are garbled.
  @UseInterceptors(FileInterceptor('photo', { defParamCharset: 'utf8' }))
  upload(@UploadedFile() photo?: Express.Multer.File): { name: string; bytes: number } {
    if (photo === undefined) throw new BadRequestException('The part photo is missing.');
    return { name: photo.originalname, bytes: photo.size };
  }
}

@Module({ controllers: [PhotosController] })
export class PhotosModule {}
