const MESSAGES = {
  timeout: 'Redis did not respond in time',
  connection: 'Redis is unreachable',
  rejection: 'Redis rejected the password or the command',
  memory: 'Redis is out of memory',
};

/** What an operator can do about a connection that fails because of a setting. */
const REMEDIES: readonly [cause: RegExp, remedy: string][] = [
  [
    /self.signed certificate|unable to (?:verify|get)/i,
    'Set REDIS_CA_FILE to the certificate of its certificate authority.',
  ],
  [/does not match certificate's altnames/i, 'Use a host name of its certificate in REDIS_URL.'],
  [
    /wrong version number|packet length too long/i,
    'It does not use TLS: use redis:// in REDIS_URL.',
  ],
  [/^MOVED /, 'It is a node of a Cluster: set REDIS_URL to two or more of its nodes.'],
  [/cluster support disabled/, 'It is not a Cluster: set REDIS_URL to one address.'],
  [
    /^ERR unknown command '(?:eval|cluster)'/i,
    'Redis Sentinel is not supported: set REDIS_URL to a Redis server or to nodes of a Cluster.',
  ],
  [/^READONLY /, 'It is a replica: set REDIS_URL to an address that leads to the master.'],
  [/CLUSTERDOWN /, 'A slot of the Cluster has no master: run redis-cli --cluster check.'],
];

/** A failed command. Log only the message of its cause, whose properties can contain a password. */
export class RedisFailure extends Error {
  override readonly name = 'RedisFailure';

  constructor(
    readonly reason: keyof typeof MESSAGES,
    options?: ErrorOptions,
  ) {
    super([MESSAGES[reason], remedyFor(options?.cause)].join(''), options);
  }
}

function remedyFor(cause: unknown): string {
  const failure = cause instanceof Error ? cause.message : '';
  const [, remedy] = REMEDIES.find(([pattern]) => pattern.test(failure)) ?? [];
  return remedy === undefined ? '' : `. ${remedy}`;
}
