import { Column, Entity, Index, PrimaryGeneratedColumn } from 'typeorm';

/** An event that one handler has not handled yet. The row is deleted when it has. */
@Entity('outbox_events')
@Index('outbox_events_handler_next_attempt_at_idx', ['handler', 'nextAttemptAt'])
export class OutboxEvent {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column('text')
  event!: string;

  /** The class and the method. */
  @Column('text')
  handler!: string;

  /** JSON. */
  @Column('text')
  payload!: string;

  /** Attempts that have started. */
  @Column('integer', { default: 0 })
  attempts!: number;

  /** Null if the event is parked: all attempts have failed. */
  @Column('timestamptz', { name: 'next_attempt_at', nullable: true, default: () => 'now()' })
  nextAttemptAt!: Date | null;

  @Column('text', { name: 'last_error', nullable: true })
  lastError!: string | null;

  @Column('timestamptz', { name: 'created_at', default: () => 'now()' })
  createdAt!: Date;
}
