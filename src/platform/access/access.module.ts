import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKey } from './api-key.entity.js';
import { Authenticator } from './authenticator.js';
import { IssuedKeys } from './key-cache/issued-keys.js';
import { KeyCache } from './key-cache/key-cache.js';
import { KeyLookupRepository } from './key-cache/key-lookup.repository.js';
import { KeySecret } from './key-cache/key-secret.entity.js';
import { OperatorAction } from './administration/operator-action.entity.js';
import { Owner } from './owner.entity.js';

/** Owners, their plans and API keys; identifies the caller of a request. */
@Module({
  imports: [TypeOrmModule.forFeature([Owner, ApiKey, KeySecret, OperatorAction])],
  providers: [Authenticator, IssuedKeys, KeyCache, KeyLookupRepository],
  exports: [Authenticator, KeyCache],
})
export class AccessModule {}
