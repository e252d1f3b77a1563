/** A setting is invalid. The message is one line with its name and the expected value. */
export class SettingError extends Error {
  override readonly name = 'SettingError';

  /**
   * @param setting the name of the environment variable
   * @param expected describes a valid value
   */
  constructor(setting: string, expected: string) {
    super(`${setting} is invalid: expected ${expected}`);
  }
}
