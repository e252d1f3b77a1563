// A store with other plans. A route shows why an owner does not get one of them.
import { Body, Controller, Module, Post } from '@nestjs/common';
import { AdministrationModule, KeyAdministration, PlatformModule, Public } from '#platform';
import { OwnerAdministration } from '../../../src/platform/access/administration/owner-administration.js';
import type { StoredPlan } from '../../../src/platform/config/plan-limits.js';
import { PRODUCT } from '../../../src/product.js';

const plans = { free: null, gold: { perMinute: 7, perDay: 70 }, partner: null };

interface Change {
  owner: string;
  plan: StoredPlan;
}

const failureOf = (error: Error) => ({ failure: error.message });

@Public()
@Controller('plans')
class PlansController {
  constructor(
    private readonly keys: KeyAdministration,
    private readonly owners: OwnerAdministration,
  ) {}

  @Post('new-owner')
  create(@Body() { owner, plan }: Change) {
    return this.keys.issue(owner, plan).catch(failureOf);
  }

  @Post('change')
  change(@Body() { owner, plan }: Change) {
    return this.owners.setPlan(owner, plan).catch(failureOf);
  }
}

@Module({
  imports: [PlatformModule.forRoot({ product: PRODUCT, plans }), AdministrationModule],
  controllers: [PlansController],
})
export class AppModule {}
