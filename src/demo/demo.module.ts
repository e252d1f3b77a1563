import { Module } from '@nestjs/common';
import { Demo } from './demo.js';

/** The demo data of a service with the embedded database. */
@Module({ providers: [Demo] })
export class DemoModule {}
