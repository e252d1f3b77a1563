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
    .option('--per-minute <n>', 'requests per minute, of an enterprise owner only', parseLimit)
    .option('--per-day <n>', 'requests per day, of an enterprise owner only', parseLimit);
}

/** Returns the plan that the options name, if any; limits that do not go with it are wrong usage. */
export function chosenPlan(
  command: Command,
  { plan, perMinute, perDay }: PlanOptions,
): PlanChoice | undefined {
  if (plan === 'enterprise') {
    if (perMinute === undefined || perDay === undefined) {
      command.error('error: the plan enterprise needs both --per-minute and --per-day');
    }
    return { plan, limits: { perMinute, perDay } };
  }
  if (perMinute !== undefined || perDay !== undefined) {
    command.error('error: --per-minute and --per-day go with --plan enterprise only');
  }
  return plan && { plan };
}
