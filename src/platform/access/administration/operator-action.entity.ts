import { Column, Entity, PrimaryGeneratedColumn } from 'typeorm';

/** A change by an operator, or demo data that the service added. */
@Entity('operator_actions')
export class OperatorAction {
  @PrimaryGeneratedColumn('identity', { type: 'bigint', generatedIdentity: 'ALWAYS' })
  id!: bigint;

  @Column('timestamptz', { name: 'performed_at', default: () => 'now()' })
  performedAt!: Date;

  /** The user and host of the operating system, as `user@host`. */
  @Column('text')
  actor!: string;

  /** The command, such as `keys revoke`. */
  @Column('text')
  action!: string;

  /** Contains the name of the changed owner, or of the owner of the changed API key, if any, as `owner`. */
  @Column('jsonb')
  details!: Record<string, unknown>;
}
