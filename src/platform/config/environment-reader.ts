import { StartError } from '../errors/start-error.js';
import { readTextFile, withoutLineEnd, withoutLineEnds } from './text-file.js';

export type Environment = Readonly<Record<string, string | undefined>>;

interface Range {
  min: number;
  max: number;
}

/** White space at an end, and other characters that a terminal shows as a space or not at all. */
const INVISIBLE = /^\s|\s$|(?![ \t\r\n])[\p{Cc}\p{Cf}\p{Z}\p{Default_Ignorable_Code_Point}]/u;

export const hasInvisibleCharacter = (text: string): boolean => INVISIBLE.test(text);

/** Returns a sentence about the first invisible character of a text, or '' without one. */
function invisibleCharacterIn(text: string): string {
  const found = INVISIBLE.exec(text);
  if (found === null) return '';
  const code = Number(found[0].codePointAt(0)).toString(16).toUpperCase().padStart(4, '0');
  return `. Character ${found.index + 1} is invisible: U+${code}`;
}

/**
 * Reads typed values from environment variables. One line end at the end of a value is ignored, and an
 * empty value counts as unset. Collects the invalid ones, so that the operator sees all of them at once.
 */
export class EnvironmentReader {
  readonly environment: Environment;
  private readonly problems: string[] = [];
  private readonly textsOfFiles = new Map<string, string>();

  constructor(environment: Environment) {
    this.environment = withoutLineEnds(environment);
  }

  /**
   * Marks a variable, or the file that `secret` reads instead, as invalid. Reports its first invisible
   * character. Returns the placeholder, so that the next ones can be read.
   */
  reject<Value = undefined>(name: string, expected: string, placeholder?: Value): Value {
    const variable = this.text(`${name}_FILE`) ? `${name}_FILE` : name;
    const text = this.textsOfFiles.get(name) ?? this.text(variable, '');
    this.problems.push(`${variable} is invalid: expected ${expected}${invisibleCharacterIn(text)}`);
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

  /** Reads text such as the name of a host or a folder, and rejects invisible characters in it. */
  visibleText<Fallback extends string | undefined = undefined>(
    name: string,
    fallback?: Fallback,
  ): string | Fallback {
    const text = this.text(name, fallback);
    if (!text || !hasInvisibleCharacter(text)) return text;
    return this.reject(name, 'text without invisible characters', fallback);
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
      const text = withoutLineEnd(readTextFile(path));
      this.textsOfFiles.set(name, text);
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
