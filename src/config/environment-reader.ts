import { readFileSync } from 'node:fs';
import { SettingError } from './setting-error.js';

export type Environment = Readonly<Record<string, string | undefined>>;

interface IntegerRange {
  min: number;
  max: number;
  fallback: number;
}

/** Reads typed values out of environment variables. An empty variable counts as unset, unless said otherwise. */
export class EnvironmentReader {
  constructor(private readonly environment: Environment) {}

  /** Returns the text as it is, the empty string included, or undefined when unset. */
  raw(name: string): string | undefined {
    return this.environment[name];
  }

  text(name: string): string | undefined {
    return this.environment[name] || undefined;
  }

  /**
   * Reads a value that may be given by the variable itself or by the file that `NAME_FILE` names
   * (the way containers hand over secrets); a line end at the file's end does not count.
   */
  secret(name: string): string | undefined {
    const path = this.text(`${name}_FILE`);
    if (path === undefined) return this.text(name);
    if (this.text(name) !== undefined) {
      throw new SettingError(`${name}_FILE`, `the place of ${name}: set one of the two`);
    }
    try {
      return readFileSync(path, 'utf8').replace(/\r?\n$/, '') || undefined;
    } catch {
      throw new SettingError(`${name}_FILE`, 'the path of a readable file');
    }
  }

  integer(name: string, { min, max, fallback }: IntegerRange): number {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) {
      throw new SettingError(name, `an integer from ${min} to ${max}`);
    }
    return value;
  }

  /** Reads seconds, a fraction allowed. Returns milliseconds. */
  seconds(name: string, { min, max, fallback }: IntegerRange): number {
    const text = this.text(name);
    if (text === undefined) return fallback * 1000;
    const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
    if (!(value >= min && value <= max)) {
      throw new SettingError(name, `a number of seconds from ${min} to ${max}`);
    }
    return Math.round(value * 1000);
  }

  boolean(name: string, fallback: boolean): boolean {
    const text = this.text(name);
    if (text === undefined) return fallback;
    if (text !== 'true' && text !== 'false') throw new SettingError(name, 'true or false');
    return text === 'true';
  }

  oneOf<Value extends string>(name: string, values: readonly Value[], fallback: Value): Value {
    const text = this.text(name);
    if (text === undefined) return fallback;
    const value = values.find((candidate) => candidate === text);
    if (value === undefined) throw new SettingError(name, `one of ${values.join(', ')}`);
    return value;
  }

  /** Returns the comma-separated items without surrounding white space, [] when unset. */
  list(name: string): string[] {
    const text = this.text(name);
    if (text === undefined) return [];
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '');
  }
}
