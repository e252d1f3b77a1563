import type { Command } from 'commander';
import type { OperatorActionRecord } from '../../platform/access/administration/operator-actions.repository.js';
import { jsonText } from '../../platform/http/response/json-text.js';
import { addCommand } from '../command-options.js';
import { addStoreAction } from '../store-command.js';
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
  addStoreAction(list, async ({ actions }, { owner }: { owner?: string }) => {
    const records = await actions.list(owner);
    return [records, auditText(records)];
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
