import { Argument, type Command } from 'commander';
import { addCommand } from '../store-command.js';

/** Each script lets `pets complete` list the words that can follow those on the command line. */
const SCRIPTS = {
  bash: `_pets() {
  local IFS=$'\\n'
  COMPREPLY=($(compgen -W "$(pets complete -- "\${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _pets pets`,
  zsh: `_pets() { compadd -- \${(f)"$(pets complete -- "\${(@)words[2,CURRENT-1]}")"} }
compdef _pets pets`,
  fish: `complete --command pets --no-files --arguments '(pets complete -- (commandline -opc)[2..])'`,
};

/** Adds `completion`, and the command `complete` that its scripts run. */
export function addCompletionCommands(program: Command): void {
  const example = 'completion bash >> ~/.bashrc';
  const description = 'print a script that completes commands and options in your shell';
  addCommand(program, 'completion', description, example)
    .addArgument(new Argument('<shell>').choices(Object.keys(SCRIPTS)))
    .action((shell: keyof typeof SCRIPTS) => console.log(SCRIPTS[shell]));
  addCommand(
    program,
    'complete',
    'list the words that can follow others, for the script of `completion`',
    'complete -- keys',
  )
    .argument('[words...]')
    .action((words: string[]) => console.log(candidates(program, words).join('\n')));
}

function candidates(program: Command, words: readonly string[]): string[] {
  const command = commandOf(program, words);
  const option = command.options.find(({ long }) => long === words.at(-1));
  if (option?.argChoices) return option.argChoices;
  return [
    ...command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    ...command.commands.map((subcommand) => subcommand.name()),
    ...command.options.flatMap(({ long }) => long ?? []),
  ];
}

/** Returns the command that these words name, or the one that contains it. */
export function commandOf(program: Command, words: readonly string[]): Command {
  const [word, ...rest] = words;
  const command = program.commands.find((candidate) => candidate.name() === word);
  return command ? commandOf(command, rest) : program;
}
