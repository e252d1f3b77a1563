import type { Command, Option } from 'commander';

/** Adds a command with a description and examples, which omit the name of the program. */
export function addCommand(
  parent: Command,
  name: string,
  description: string,
  ...examples: string[]
): Command {
  const command = parent.command(name).description(description);
  return addExamples(command, ...examples);
}

/** Adds --json, which every command accepts. */
export function addJsonOption(command: Command): Command {
  return command.option('--json', 'print the result as JSON');
}

/**
 * Adds a required option. Commander would check its own required options before unknown ones, and
 * so report a mistyped option as a missing one.
 */
export function addRequiredOption(command: Command, option: Option): Command {
  option.description = `(required) ${option.description}`;
  return command.addOption(option).hook('preAction', () => {
    if (command.getOptionValue(option.attributeName()) === undefined)
      command.error(`error: required option '${option.flags}' not specified`);
  });
}

/** Adds examples to the help of a command. */
export function addExamples(command: Command, ...examples: string[]): Command {
  const lines = examples.map((example) => `\n  pets ${example}`);
  return command.addHelpText('after', `\nExamples:${lines.join('')}`);
}
