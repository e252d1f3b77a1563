const MESSAGES = {
  timeout: 'Redis did not respond in time',
  connection: 'Redis is unreachable',
  rejection: 'Redis rejected the password or the command',
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
