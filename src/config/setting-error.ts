/** A setting that is missing or invalid: its message is one line that names it and what it takes. */
export class SettingError extends Error {
  override readonly name = 'SettingError';

  /**
   * @param setting the environment variable's name
   * @param takes what a valid value looks like
   */
  constructor(setting: string, takes: string) {
    super(`${setting} is invalid: it takes ${takes}`);
  }
}
