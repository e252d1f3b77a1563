// @ts-check
// Routes that get files, as in the documentation of NestJS.
import { Body, Controller, Post, Req, UploadedFile, UseInterceptors } from '@nestjs/common';
import { FileInterceptor } from '@nestjs/platform-express';
import { Length } from 'class-validator';
import { decorate, feature } from './decorate.mjs';

/** @typedef {Express.Multer.File} File */

class Photo {
  title = '';
}
Length(1, 20)(Photo.prototype, 'title');

class PhotosController {
  /** @param {File} file @param {Photo} photo */
  add(file, { title }) {
    return { title, name: file.originalname, size: file.size };
  }
  /** @param {File} file */
  alone({ size }) {
    return { size };
  }
  /** @param {{ file: File }} request */
  addFromRequest({ file }) {
    return { size: file.size };
  }
}
const { prototype } = PhotosController;
Reflect.defineMetadata('design:paramtypes', [Object], prototype, 'alone');
UploadedFile()(prototype, 'alone', 0);
decorate(PhotosController, 'alone', Post('alone'), UseInterceptors(FileInterceptor('file')));
Reflect.defineMetadata('design:paramtypes', [Object, Photo], prototype, 'add');
UploadedFile()(prototype, 'add', 0);
Body()(prototype, 'add', 1);
Req()(prototype, 'addFromRequest', 0);
const limits = { fileSize: 600_000, fieldSize: 100, parts: 3 };
decorate(PhotosController, 'add', Post(), UseInterceptors(FileInterceptor('file', { limits })));
decorate(
  PhotosController,
  'addFromRequest',
  Post('request'),
  UseInterceptors(FileInterceptor('file')),
);
Controller({ path: 'photos', version: '1' })(PhotosController);

export default [feature({ controllers: [PhotosController] })];
