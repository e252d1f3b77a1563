import type { Command } from 'commander';
import {
  type OperatorActionRecord,
  OperatorActionsRepository,
} from '../../auth/administration/operator-actions.repository.js';
import { jsonText } from '../../http/response/json-text.js';
import { addCommand, addJsonOption } from '../command-options.js';
import { type OutputOptions, printResult } from '../output.js';
import { textTable, timeText } from '../text-table.js';
import { parseOwner } from './option-values.js';

/** Adds `audit` and its command. */
export function addAuditCommands(program: Command): void {
  const example = 'audit list --owner "City shelter"';
  const audit = addCommand(program, 'audit', 'show what operators changed', example);
  const list = addCommand(
    audit,
    'list',
    'list who changed what and when, newest first',
    'audit list',
    `${example} --json`,
  ).option('--owner <name>', 'only changes of this owner and its API keys', parseOwner);
  type Options = OutputOptions & { owner?: string };
  addJsonOption(list).action(async ({ owner, ...options }: Options) => {
    const { withConnection } = await import('../store-session.js');
    // The schema may be older, because the record survives every revert.
    await withConnection({}, async (connection) => {
      const actions = new OperatorActionsRepository(connection);
      const records = await actions.list(owner);
      await printResult(options, records, auditText(records));
    });
  });
}

function auditText(records: readonly OperatorActionRecord[]): string {
  if (records.length === 0) return 'There are no changes.\n';
  const rows = records.map(({ performedAt, actor, action, owner, details }) => [
    timeText(performedAt),
    actor,
    action,
    owner,
    detailsText(details),
  ]);
  return textTable(['TIME', 'OPERATOR', 'CHANGE', 'OWNER', 'DETAILS'], rows);
}

/** Returns, for example, `keyId 1, plan pro`. */
function detailsText(details: OperatorActionRecord['details']): string {
  return Object.entries(details)
    .filter(([name, value]) => name !== 'owner' && value !== null)
    .map(([name, value]) => `${name} ${typeof value === 'string' ? value : jsonText(value)}`)
    .join(', ');
}
