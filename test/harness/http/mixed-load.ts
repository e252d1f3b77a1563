import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ApiResponse, ApiClient } from './client.js';

const WORKERS = 6;
const PAUSE_MS = 25;

export type Kind = 'list' | 'get' | 'create' | 'keyed create' | 'unmatched' | 'unknown key';
/** In this order, over and over. */
const MIX: readonly Kind[] = ['list', 'create', 'get', 'keyed create', 'unmatched', 'unknown key'];

/** A request with a response. */
export interface Sent {
  kind: Kind;
  /** The item's name, which no other has. */
  name: string;
  response: ApiResponse;
  /** When it was sent, by `performance.now()`. */
  sentAtMs: number;
  ms: number;
}

/** Requests of every kind, a few at once, until it is stopped. */
export class MixedLoad {
  /** In the order of their responses. */
  readonly sent: Sent[] = [];
  /** The number of requests without a response, because the connection broke. */
  readonly broken: unknown[] = [];
  private readonly id = randomBytes(6).toString('hex');
  private stopped = false;
  private readonly workers: Promise<void>[] = [];
  private count = 0;

  /**
   * @param key one that the service knows
   * @param unknownKeys valid ones that it has not met, each used once; without any left, the known
   *   one
   * @param mix the kinds of requests, sent round-robin
   */
  constructor(
    private readonly service: { url: string },
    private readonly key: string,
    private readonly unknownKeys: string[],
    private readonly mix: readonly Kind[] = MIX,
  ) {
    for (let worker = 0; worker < WORKERS; worker++) this.workers.push(this.work());
  }

  /** Resolves when the given number of further responses have arrived. */
  async untilMoreResponses(more: number): Promise<void> {
    const enough = this.sent.length + more;
    while (this.sent.length < enough && !this.stopped) await sleep(10);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await Promise.all(this.workers);
  }

  /** Counts the responses to requests of the given kinds by status. */
  byStatus(...kinds: Kind[]): Record<number, number> {
    const counts: Record<number, number> = {};
    for (const { kind, response } of this.sent) {
      if (kinds.includes(kind)) counts[response.status] = (counts[response.status] ?? 0) + 1;
    }
    return counts;
  }

  private async work(): Promise<void> {
    while (!this.stopped) {
      const number = this.count++;
      const kind = this.mix[number % this.mix.length]!;
      const name = `${this.id}-${number}`;
      const sentAtMs = performance.now();
      try {
        const response = await this.send(kind, name, number);
        this.sent.push({ kind, name, response, sentAtMs, ms: performance.now() - sentAtMs });
      } catch (error) {
        this.broken.push(error);
      }
      await sleep(PAUSE_MS);
    }
  }

  private send(kind: Kind, name: string, number: number): Promise<ApiResponse> {
    const client = new ApiClient(this.service, this.key);
    switch (kind) {
      case 'list':
        return client.get(`/v1/items?limit=20${number % 2 ? '&status=available' : ''}`);
      case 'get':
        return client.get('/v1/items/1');
      case 'create':
        return client.post('/v1/items', { name, categoryId: number });
      case 'keyed create':
        return client.post('/v1/items', { name, categoryId: number }, { 'Idempotency-Key': name });
      case 'unmatched':
        return client.get('/v1/nothing');
      case 'unknown key':
        return new ApiClient(this.service, this.unknownKeys.pop() ?? this.key).get('/v1/items');
    }
  }
}
