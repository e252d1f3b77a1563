const OLDEST_VERSION = 7;

/** Returns why a Redis server is unsuitable for rate limits. @param info its reply to INFO */
export function serverWarnings(info: string): string[] {
  const warnings: string[] = [];
  const policy = valueOf(info, 'maxmemory_policy');
  if (policy !== undefined && policy !== 'noeviction') {
    warnings.push(
      `Redis evicts keys (maxmemory-policy ${policy}): owners can lose their counters when memory is short. Set maxmemory-policy noeviction.`,
    );
  }
  const version = valueOf(info, 'redis_version');
  if (version !== undefined && Number.parseInt(version, 10) < OLDEST_VERSION) {
    warnings.push(
      `Redis ${version} is too old: the rate limits require Redis ${OLDEST_VERSION} or later.`,
    );
  }
  return warnings;
}

function valueOf(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1];
}
