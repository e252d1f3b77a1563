const MESSAGES = {
  timeout: 'Redis did not respond in time',
  connection: 'Redis is unreachable',
  authentication: 'Redis rejected the user name or password of REDIS_URL',
  refusal: 'Redis rejected the command',
  memory: 'Redis is out of memory',
};

/** A failed command. Log only the message of its cause, whose properties can contain a password. */
export class RedisFailure extends Error {
  override readonly name = 'RedisFailure';

  constructor(
    readonly reason: keyof typeof MESSAGES,
    options?: ErrorOptions,
  ) {
    super(MESSAGES[reason], options);
  }
}
