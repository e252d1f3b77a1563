import { Entity, PrimaryColumn } from 'typeorm';

/** The secret of the store's API keys: one row, which a migration creates. Never log it. */
@Entity('key_secret')
export class KeySecret {
  @PrimaryColumn('bytea')
  secret!: Buffer;
}
