import { type Command, Option } from 'commander';
import type { PlanChoice } from '../../auth/administration/plan-choice.js';
import { type Plan, PLANS } from '../../auth/plan.js';
import { parseLimit } from './option-values.js';

export interface PlanOptions {
  plan?: Plan;
  perMinute?: number;
  perDay?: number;
}

/** Adds --plan, --per-minute and --per-day to a command. */
export function addPlanOptions(command: Command, { required }: { required: boolean }): Command {
  return command
    .addOption(
      new Option('--plan <plan>', 'the plan of the owner')
        .choices(PLANS)
        .makeOptionMandatory(required),
    )
    .option('--per-minute <n>', 'requests per minute, only with --plan enterprise', parseLimit)
    .option('--per-day <n>', 'requests per day, only with --plan enterprise', parseLimit);
}

/** Returns the plan of the options, if any. Limits without the enterprise plan are a usage error. */
export function chosenPlan(
  command: Command,
  { plan, perMinute, perDay }: PlanOptions,
): PlanChoice | undefined {
  if (plan === 'enterprise') {
    if (perMinute === undefined || perDay === undefined) {
      command.error('error: --plan enterprise requires --per-minute and --per-day');
    }
    return { plan, limits: { perMinute, perDay } };
  }
  if (perMinute !== undefined || perDay !== undefined) {
    command.error('error: --per-minute and --per-day require --plan enterprise');
  }
  return plan && { plan };
}
