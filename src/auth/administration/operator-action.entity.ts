import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** What an operator changed: who, when and what. */
@Entity('operator_actions')
export class OperatorAction {
  @PrimaryGeneratedColumn('identity', {
    type: 'bigint',
    generatedIdentity: 'ALWAYS',
    primaryKeyConstraintName: 'operator_actions_pkey',
  })
  id!: bigint;

  @Column('timestamptz', { name: 'performed_at', default: () => 'now()' })
  performedAt!: Date;

  /** The operating system's user and host. */
  @Column('text')
  actor!: string;

  /** The command, such as `keys revoke`. */
  @Column('text')
  action!: string;

  @Column('jsonb')
  details!: Record<string, unknown>;
}
