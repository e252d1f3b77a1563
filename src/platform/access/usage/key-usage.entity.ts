import { Column, Entity, PrimaryColumn } from 'typeorm';

/** The requests of an API key that one process has counted on one UTC day. */
@Entity('api_key_usage')
export class KeyUsageOfDay {
  /** As `YYYY-MM-DD`. */
  @PrimaryColumn('date')
  day!: string;

  @PrimaryColumn('bigint', { name: 'key_id' })
  keyId!: bigint;

  /** Identifies the counters of one day in one process. */
  @PrimaryColumn('uuid')
  counter!: string;

  /** Requests that were counted for the limits of the owner. */
  @Column('bigint')
  requests!: bigint;

  /** Requests that a limit rejected with 429. */
  @Column('bigint')
  rejections!: bigint;
}
