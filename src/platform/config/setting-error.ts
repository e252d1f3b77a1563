/** Settings are invalid. The message has one line for each, with its name and the expected value. */
export class SettingError extends Error {
  override readonly name = 'SettingError';

  /** @param invalid descriptions of valid values, by the name of the environment variable */
  constructor(invalid: ReadonlyMap<string, string>) {
    const lines = [...invalid].map(
      ([setting, expected]) => `${setting} is invalid: expected ${expected}`,
    );
    super(lines.join('\n'));
  }
}
