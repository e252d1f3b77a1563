// @ts-check
// Loaded before the built service (--import): adds the features of the file TEST_FEATURES.
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { AppModule } from '#dist/app.module.js';

const features = (await import(process.env['TEST_FEATURES'] ?? '')).default;
Module({ imports: [...Reflect.getMetadata('imports', AppModule), ...features] })(AppModule);
