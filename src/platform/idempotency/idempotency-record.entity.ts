import { Check, Column, Entity, Index, PrimaryColumn } from 'typeorm';

/** The first response to the requests of an owner with an idempotency key. */
@Entity('idempotency_keys')
@Check('idempotency_keys_fingerprint_check', 'octet_length(fingerprint) = 32')
export class IdempotencyRecord {
  @PrimaryColumn('bigint', { name: 'owner_id' })
  ownerId!: bigint;

  @PrimaryColumn({ type: 'text', collation: 'C' })
  key!: string;

  /** SHA-256 of the request's content. */
  @Column('bytea')
  fingerprint!: Buffer;

  /** The body of the response, byte for byte. */
  @Column('text', { name: 'answer' })
  response!: string;

  @Index('idempotency_keys_expires_at_idx')
  @Column('timestamptz', { name: 'expires_at' })
  expiresAt!: Date;
}
