import 'reflect-metadata';
import type { Type } from '@nestjs/common';
import type { Command as Commander } from 'commander';
import type { StoreOptions } from '../config/product.js';
import type { Effect } from './command-failure.js';

const COMMANDS = Symbol('commands');

export interface CommandOptions {
  /**
   * What the command does to the database, in one transaction. If the database fails, the command says that
   * nothing was added, changed or removed.
   */
  effect?: Effect;
  /** Whether the command may create the embedded database. */
  createsDatabase?: boolean;
  /** Whether migrations may be pending. */
  anySchema?: boolean;
  /** Whether a command of the platform needs the entities of the features. */
  needsEntities?: boolean;
  /**
   * The steps by which a list fits into 80 characters. While it is wider, each omits a column, or shortens
   * texts to a length. By default, texts are shortened to 16, and then to 12 characters.
   */
  fit?: readonly (string | number)[];
  /** Returns the result in the form that is printed as text. JSON has the result itself. */
  asText?: (result: never) => object;
  /**
   * Returns a sentence for the failure that follows if the result cannot be printed. By default, it is no
   * failure if the reader has closed its pipe.
   */
  ifUnprinted?: (result: never) => string;
}

/** The commands that start with one word. */
export interface CommandGroup {
  /** For the help, in the form of a command. */
  readonly description: string;
  /** Loads the provider with the methods. It is called if one of its commands is used. */
  readonly load: () => Promise<Type>;
}

/** Groups by their first word. */
export type CommandGroups = Readonly<Record<string, CommandGroup>>;

type AddArguments = (command: Commander, store: StoreOptions) => unknown;

/** A method with `@Command()`. */
export interface DeclaredCommand extends CommandOptions {
  readonly name: string;
  readonly description: string;
  readonly addArguments: AddArguments;
  readonly method: string;
}

/** Gets the arguments, the options, and commander's command. */
type Handler = (...args: never[]) => Promise<object | undefined> | AsyncIterable<string | Buffer>;

/**
 * Makes a method of a provider a command for operators. The first word of the command is the one under
 * which `src/commands.ts` lists the provider: there, `@Command('sell', 'sell toys')` is `toys sell`. The
 * method returns an object or a list to print, or yields text. An error that it throws is printed as one
 * line.
 *
 * @param description for the help, in the form of a command
 * @param addArguments adds arguments and options, with the methods of commander
 */
export function Command(
  name: string,
  description: string,
  addArguments: AddArguments = () => undefined,
  options: CommandOptions = {},
) {
  return <Method extends Handler>(
    { constructor }: object,
    method: string,
    _descriptor: TypedPropertyDescriptor<Method>,
  ): void => {
    const declared = { ...options, name, description, addArguments, method };
    Reflect.defineMetadata(COMMANDS, [...commandsOf(constructor), declared], constructor);
  };
}

/** Returns the commands of a class. Other values have none. */
export function commandsOf(type: unknown): readonly DeclaredCommand[] {
  if (typeof type !== 'function') return [];
  return (Reflect.getMetadata(COMMANDS, type) as DeclaredCommand[] | undefined) ?? [];
}
