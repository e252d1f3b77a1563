import { Injectable } from '@nestjs/common';
import type { KeyState } from '../access/caller.js';
import { MINUTE_MS } from '../config/clock.js';
import { Settings } from '../config/settings.js';
import type { ServiceError } from '../errors/service-error.js';
import { clientNetwork } from '../http/request/request-context.js';
import type { Response } from '../http/request/request.js';
import { reportDecision } from './limit-headers.js';
import { type Budget, LimitStorage, ownerBudget, Quota } from './limit-storage.js';

/** The budgets of callers. */
@Injectable()
export class RateLimiter {
  /** Cached keys are immutable, so each has one budget. */
  private readonly ownerBudgets = new WeakMap<KeyState, Budget>();
  private readonly addressQuotas: readonly Quota[];

  constructor(
    readonly storage: LimitStorage,
    private readonly settings: Settings,
  ) {
    const { anonymousRequestsPerMinute } = settings.limits;
    this.addressQuotas = [new Quota('minute', anonymousRequestsPerMinute, MINUTE_MS)];
  }

  /** Counts a request for an address, and sets the headers. Returns the 429 if it is over the limit. */
  async consumeForAddress(
    address: string | undefined,
    response: Response,
  ): Promise<ServiceError | undefined> {
    const budget = this.addressBudget(address);
    return reportDecision(response, await this.storage.decide(budget, 'consume'));
  }

  /** Sets the headers for an address without a count, from the memory of this process. */
  reportForAddress(address: string | undefined, response: Response): void {
    reportDecision(response, this.storage.peekLocal(this.addressBudget(address)));
  }

  /** Returns the budget of an API key's owner, with the ban policy of the API key. */
  ownerBudget(key: KeyState): Budget {
    let budget = this.ownerBudgets.get(key);
    if (!budget) {
      const { banAfterRejections = key.limits.perMinute, banMs } = this.settings.limits;
      budget = ownerBudget(key, { afterRejections: banAfterRejections, lengthMs: banMs });
      this.ownerBudgets.set(key, budget);
    }
    return budget;
  }

  /** Returns the budget of a client address. IPv6 addresses of one /64 share a budget. */
  addressBudget(address: string | undefined): Budget {
    const { addressQuotas: quotas } = this;
    return { kind: 'address', id: clientNetwork(address), quotas };
  }
}
