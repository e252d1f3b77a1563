const MESSAGES = {
  timeout: 'Redis did not respond in time',
  connection: 'Redis is unreachable',
  authentication: 'Redis rejected the user name or password of REDIS_URL',
  refusal: 'Redis rejected the command',
  memory: 'Redis is out of memory',
};

/** Why a command to Redis failed. */
export type RedisFailureReason = keyof typeof MESSAGES;

/**
 * A command to Redis failed. The cause is the error of the Redis client. Log only its message: its
 * other properties can contain a password.
 */
export class RedisFailure extends Error {
  override readonly name = 'RedisFailure';

  constructor(
    readonly reason: RedisFailureReason,
    options?: ErrorOptions,
  ) {
    super(MESSAGES[reason], options);
  }
}
