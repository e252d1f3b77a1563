import { StartError } from '../errors/start-error.js';
import { readTextFile } from './text-file.js';

export type Environment = Readonly<Record<string, string | undefined>>;

interface Range {
  min: number;
  max: number;
}

/**
 * Reads typed values from environment variables. An empty one counts as unset.
 * Collects the invalid ones, so that the operator sees all of them at once.
 */
export class EnvironmentReader {
  private readonly problems: string[] = [];

  constructor(readonly environment: Environment) {}

  /**
   * Marks a variable, or the file that `secret` reads instead, as invalid. Returns the placeholder, so
   * that the next ones can be read.
   */
  reject<Value = undefined>(name: string, expected: string, placeholder?: Value): Value {
    const variable = this.text(`${name}_FILE`) ? `${name}_FILE` : name;
    this.problems.push(`${variable} is invalid: expected ${expected}`);
    return placeholder as Value;
  }

  /** @throws StartError with one line for each invalid variable */
  requireValid(): void {
    if (this.problems.length > 0) throw new StartError(this.problems.join('\n'));
  }

  /** @param fallback undefined if there is none */
  text<Fallback extends string | undefined = undefined>(
    name: string,
    fallback?: Fallback,
  ): string | Fallback {
    return this.environment[name] || (fallback as Fallback);
  }

  /**
   * Reads a secret from the variable `NAME`, or from the file whose path is in `NAME_FILE`, because
   * container platforms pass secrets as files. A line end at the end of the file is ignored.
   */
  secret<Fallback extends string | undefined = undefined>(
    name: string,
    fallback?: Fallback,
  ): string | Fallback {
    const path = this.text(`${name}_FILE`);
    if (path === undefined) return this.text(name, fallback);
    if (this.text(name)) {
      return this.reject(name, `only one of ${name} and ${name}_FILE`, fallback);
    }
    let reason = `${path} is empty`;
    try {
      const text = readTextFile(path).replace(/\r?\n$/, '');
      if (text) return text;
    } catch (error) {
      reason = (error as Error).message;
    }
    const expected = `the path of a readable file that is not empty (${reason})`;
    return this.reject(name, expected, fallback);
  }

  integer(name: string, fallback: number, { min, max }: Range): number {
    const text = this.text(name) ?? String(fallback);
    const value = /^\d{1,15}$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return value;
    return this.reject(name, `an integer from ${min} to ${max}`, fallback);
  }

  /** Reads seconds with up to three decimals. Returns milliseconds. The range is in seconds. */
  seconds(name: string, fallback: number, { min, max }: Range): number {
    const text = this.text(name) ?? String(fallback);
    const value = /^\d{1,9}(\.\d{1,3})?$/.test(text) ? Number(text) : NaN;
    if (value >= min && value <= max) return Math.round(value * 1000);
    return this.reject(name, `a number of seconds from ${min} to ${max}`, fallback * 1000);
  }

  boolean(name: string, fallback: boolean): boolean {
    return this.oneOf(name, ['true', 'false'], fallback ? 'true' : 'false') === 'true';
  }

  oneOf<const Word extends string>(name: string, values: readonly Word[], fallback: Word): Word {
    const text = this.text(name) ?? fallback;
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
 * @throws StartError that describes every invalid one. At the start, the process prints it and ends
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
