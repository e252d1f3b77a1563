import { readFileSync } from 'node:fs';
import { StartError } from '../errors/start-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Settings are invalid. The message has one line for each, with its name and the expected value. */
export class SettingError extends StartError {
  /** @param invalid descriptions of valid values, by the name of the environment variable */
  constructor(invalid: ReadonlyMap<string, string>) {
    super([...invalid].map(([name, value]) => `${name} is invalid: expected ${value}`).join('\n'));
  }
}

interface Range {
  min: number;
  max: number;
}

/**
 * Reads typed values from environment variables. An empty one counts as unset, except in `raw`.
 * Collects the invalid ones, so that the operator sees all of them at once.
 */
export class EnvironmentReader {
  private readonly invalid = new Map<string, string>();

  constructor(private readonly environment: Environment) {}

  /**
   * Marks a variable, or the file that `secret` reads instead, as invalid. Returns the placeholder, so
   * that the next ones can be read.
   */
  reject<Value = undefined>(name: string, expected: string, placeholder?: Value): Value {
    this.invalid.set(this.text(`${name}_FILE`) ? `${name}_FILE` : name, expected);
    return placeholder as Value;
  }

  /** @throws SettingError when a variable is invalid */
  requireValid(): void {
    if (this.invalid.size > 0) throw new SettingError(this.invalid);
  }

  raw(name: string): string | undefined {
    return this.environment[name];
  }

  text(name: string): string | undefined {
    return this.environment[name] || undefined;
  }

  /**
   * Reads a secret from the variable `NAME`, or from the file whose path is in `NAME_FILE`, because
   * container platforms pass secrets as files. A line end at the end of the file is ignored.
   */
  secret(name: string): string | undefined {
    const path = this.text(`${name}_FILE`);
    if (path === undefined) return this.text(name);
    if (this.text(name)) return this.reject(name, `only one of ${name} and ${name}_FILE`);
    let reason = `${path} is empty`;
    try {
      const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '');
      if (text) return text;
    } catch (error) {
      reason = (error as Error).message;
    }
    return this.reject(name, `the path of a readable file that is not empty (${reason})`);
  }

  integer(name: string, fallback: number, range: Range): number {
    return this.optionalInteger(name, range) ?? fallback;
  }

  optionalInteger(name: string, { min, max }: Range): number | undefined {
    const text = this.text(name);
    if (text === undefined) return undefined;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    return this.reject(name, `an integer from ${min} to ${max}`);
  }

  /** Reads seconds with up to three decimals. Returns milliseconds. The range is in seconds. */
  seconds(name: string, fallback: number, { min, max }: Range): number {
    const text = this.text(name) ?? String(fallback);
    const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return Math.round(value * 1000);
    return this.reject(name, `a number of seconds from ${min} to ${max}`, NaN);
  }

  boolean(name: string, fallback: boolean): boolean {
    return this.oneOf(name, ['true', 'false'], fallback ? 'true' : 'false') === 'true';
  }

  oneOf<Value extends string>(name: string, values: readonly Value[], fallback: Value): Value {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = values.find((candidate) => candidate === text);
    return value ?? this.reject(name, `one of ${values.join(', ')}`, fallback);
  }

  /** Returns the comma-separated items without surrounding white space, [] when unset. */
  list(name: string): string[] {
    const items = this.text(name)?.split(',') ?? [];
    return items.map((item) => item.trim()).filter((item) => item !== '');
  }
}

/**
 * Returns settings from the variables of the environment.
 *
 * @throws SettingError that describes every invalid one. At the start, the process prints it and ends
 */
export function readSettings<Result>(
  settings: (read: EnvironmentReader) => Result,
  environment: Environment = process.env,
): Result {
  const read = new EnvironmentReader(environment);
  const result = settings(read);
  read.requireValid();
  return result;
}
