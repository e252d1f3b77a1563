/** Why Redis could not be used. */
export type RedisFailureReason = 'timeout' | 'connection' | 'authentication' | 'refusal' | 'memory';

const MESSAGES: Record<RedisFailureReason, string> = {
  timeout: 'Redis does not answer in time',
  connection: 'Redis cannot be reached',
  authentication: 'Redis rejects the user or password of REDIS_URL',
  refusal: 'Redis refuses the command',
  memory: 'Redis has no memory left',
};

/** Redis could not be used. The cause is the client's error: it can hold a password, and is not to be logged but by its message. */
export class RedisFailure extends Error {
  override readonly name = 'RedisFailure';

  constructor(
    readonly reason: RedisFailureReason,
    options?: ErrorOptions,
  ) {
    super(MESSAGES[reason], options);
  }
}
