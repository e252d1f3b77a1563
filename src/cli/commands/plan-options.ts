import { type Command, Option } from 'commander';
import type { StoredPlan } from '../../platform/access/owner.entity.js';
import { MAX_CUSTOM_LIMIT, type Plan, PLAN_LIMITS } from '../../platform/config/plans.js';
import { countUpTo } from './option-values.js';

const PLANS = Object.keys(PLAN_LIMITS) as Plan[];
const CUSTOM = `--plan ${PLANS.filter((plan) => PLAN_LIMITS[plan] === null).join(' or ')}`;

export interface PlanOptions {
  plan?: Plan;
  perMinute?: number;
  perDay?: number;
}

/** Adds --plan, --per-minute and --per-day. Limits that do not match the plan are a usage error. */
export function addPlanOptions(command: Command, { required }: { required: boolean }): Command {
  const limit = countUpTo(MAX_CUSTOM_LIMIT);
  const description = required
    ? '(required) the new plan'
    : 'the plan of the owner, required if it is new';
  const plan = new Option('--plan <plan>', description).choices(PLANS);
  return command
    .addOption(plan.makeOptionMandatory(required))
    .option('--per-minute <n>', `requests per minute, only with ${CUSTOM}`, limit)
    .option('--per-day <n>', `requests per day, only with ${CUSTOM}`, limit)
    .hook('preAction', () => checkLimits(command));
}

/** Returns the plan with the limits of the options. */
export function storedPlan(plan: Plan, { perMinute, perDay }: PlanOptions): StoredPlan {
  return { plan, limitPerMinute: perMinute ?? null, limitPerDay: perDay ?? null };
}

function checkLimits(command: Command): void {
  const { plan, perMinute, perDay } = command.opts<PlanOptions>();
  if (plan && PLAN_LIMITS[plan] === null) {
    if (perMinute === undefined || perDay === undefined) {
      command.error(`error: --plan ${plan} requires --per-minute and --per-day`);
    }
  } else if (perMinute !== undefined || perDay !== undefined) {
    command.error(`error: --per-minute and --per-day require ${CUSTOM}`);
  }
}
