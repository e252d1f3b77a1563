/** The number of requests in progress. */
export interface UsedSlots {
  all: number;
  unauthenticated: number;
}

/** One of the limited slots for requests in progress. A new slot is in use. */
export class RequestSlot {
  private isHeld = false;
  private isAuthenticated = false;

  constructor(private readonly used: UsedSlots) {
    this.reacquire();
  }

  /** Frees the slot, because the service waits for the client or has sent the response. */
  release(): void {
    if (this.isHeld) this.add(-1);
    this.isHeld = false;
  }

  /** Takes a slot again, even when none is free: the request was already admitted. */
  reacquire(): void {
    if (!this.isHeld) this.add(1);
    this.isHeld = true;
  }

  /** The request has a valid API key, so it no longer counts as unauthenticated. */
  setAuthenticated(): void {
    if (this.isHeld && !this.isAuthenticated) this.used.unauthenticated--;
    this.isAuthenticated = true;
  }

  private add(slots: number): void {
    this.used.all += slots;
    if (!this.isAuthenticated) this.used.unauthenticated += slots;
  }
}
