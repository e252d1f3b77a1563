import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { ApiKey, KeySecret } from '../api-key.entity.js';
import { Owner } from '../owner.entity.js';
import { KeyAdministration } from './key-administration.js';
import { OperatorAction } from './operator-action.entity.js';
import { AuditTrail } from './operator-actions.repository.js';
import { OwnerAdministration } from './owner-administration.js';

const PROVIDERS = [KeyAdministration, OwnerAdministration, AuditTrail];

/** Changes owners and API keys, and records changes. A module that injects these imports it. */
@Module({
  imports: [TypeOrmModule.forFeature([Owner, ApiKey, KeySecret, OperatorAction])],
  providers: PROVIDERS,
  exports: PROVIDERS,
})
export class AdministrationModule {}
