import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKey } from './api-key.entity.js';
import { Authenticator } from './authenticator.js';
import { KeyCache } from './key-cache/key-cache.js';
import { KeyChanges } from './key-cache/key-changes.js';
import { KeyLookupRepository } from './key-cache/key-lookup.repository.js';
import { LastUsed } from './last-used.js';
import { OperatorAction } from './administration/operator-action.entity.js';
import { Owner } from './owner.entity.js';

/** Owners, their plans and API keys; identifies the caller of a request. */
@Module({
  imports: [TypeOrmModule.forFeature([Owner, ApiKey, OperatorAction])],
  providers: [Authenticator, KeyCache, KeyChanges, KeyLookupRepository, LastUsed],
  exports: [Authenticator, KeyCache],
})
export class AuthModule {}
