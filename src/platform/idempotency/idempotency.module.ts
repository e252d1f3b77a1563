import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { IdempotencyRecord } from './idempotency-record.entity.js';
import { Idempotency } from './idempotency.js';
import { IdempotencyRepository } from './idempotency.repository.js';

/** Makes requests safe to retry. A module that injects Idempotency imports it. */
@Module({
  imports: [TypeOrmModule.forFeature([IdempotencyRecord])],
  providers: [Idempotency, IdempotencyRepository],
  exports: [Idempotency],
})
export class IdempotencyModule {}
