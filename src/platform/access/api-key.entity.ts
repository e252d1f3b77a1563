import {
  Check,
  Column,
  Entity,
  Index,
  JoinColumn,
  ManyToOne,
  PrimaryColumn,
  PrimaryGeneratedColumn,
  type Relation,
  Unique,
  VirtualColumn,
} from 'typeorm';
import type { Access } from '../config/plan-limits.js';
import { Owner } from './owner.entity.js';

/** An API key. Only its hash is stored. Rows are never deleted. */
@Entity('api_keys')
@Unique('api_keys_hash_key', ['hash'])
@Check('api_keys_hash_check', 'octet_length(hash) = 32')
@Check('api_keys_access_check', "access IN ('read', 'read-write')")
@Check('api_keys_note_check', 'char_length(note) BETWEEN 1 AND 200')
export class ApiKey {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Index('api_keys_owner_id_idx')
  @Column('bigint', { name: 'owner_id' })
  ownerId!: bigint;

  @ManyToOne(() => Owner, { nullable: false })
  @JoinColumn({ name: 'owner_id', foreignKeyConstraintName: 'api_keys_owner_id_fkey' })
  owner!: Relation<Owner>;

  /** The first key of the rotation lineage; null if this is it. Bans apply to the whole lineage. */
  @Index('api_keys_first_key_id_idx')
  @Column('bigint', { name: 'first_key_id', nullable: true })
  firstKeyId!: bigint | null;

  /** The latest API key that replaced this one; null if it was not rotated. */
  @Column('bigint', { name: 'successor_id', nullable: true })
  successorId!: bigint | null;

  /** SHA-256 of the API key. */
  @Column('bytea')
  hash!: Buffer;

  @Column('text')
  hint!: string;

  /** Whether the API key proves itself. false: an earlier release issued it. */
  @Column('boolean', { name: 'has_proof', default: false })
  hasProof!: boolean;

  @Column('text', { default: 'read-write' })
  access!: Access;

  /** For operators: what the API key is for. */
  @Column('text', { nullable: true })
  note!: string | null;

  /** How often the lineage was unbanned. A ban that was recorded with a lower count is void. */
  @Column('integer', { name: 'unban_count', default: 0 })
  unbanCount!: number;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;

  @Column('timestamptz', { name: 'last_used_at', nullable: true })
  lastUsedAt!: Date | null;

  @Column('timestamptz', { name: 'expires_at', nullable: true })
  expiresAt!: Date | null;

  /** By the clock of PostgreSQL, which also sets the times. */
  @VirtualColumn({ query: (alias) => `SELECT coalesce(${alias}.expires_at <= now(), false)` })
  isExpired!: boolean;

  /**
   * How long the API key was valid when its expiry was set last, for its rotation. null: without a limit,
   * or set by an earlier release.
   */
  @Column('bigint', { name: 'lifetime_ms', nullable: true })
  lifetimeMs!: bigint | null;

  @Column('timestamptz', { name: 'revoked_at', nullable: true })
  revokedAt!: Date | null;

  /** rotated: another key replaces it, and it is valid until it expires. */
  get status(): 'active' | 'rotated' | 'expired' | 'revoked' {
    if (this.revokedAt) return 'revoked';
    if (this.isExpired) return 'expired';
    return this.successorId === null ? 'active' : 'rotated';
  }
}

/** The secret of the store's API keys: one row, which a migration creates. Never log it. */
@Entity('key_secret')
export class KeySecret {
  @PrimaryColumn('bytea')
  secret!: Buffer;
}
