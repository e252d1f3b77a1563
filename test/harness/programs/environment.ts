let last: Promise<unknown> = Promise.resolve();

/**
 * Does work with these variables as the environment of the process, which features read too. One work after another, because the
 * process has one environment.
 */
export function withEnvironment<Result>(
  env: Record<string, string | undefined>,
  work: () => Promise<Result>,
): Promise<Result> {
  const result = last.then(async () => {
    const own = process.env;
    process.env = env;
    try {
      return await work();
    } finally {
      process.env = own;
    }
  });
  last = result.catch(() => undefined);
  return result;
}
