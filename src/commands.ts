import type { CommandGroups } from '#platform';

/**
 * The commands of the features for operators, by their first word. The provider is also one of its module.
 * Its code is loaded when one of its commands is used.
 */
export const COMMANDS: CommandGroups = {
  animals: {
    description: 'list, change, remove, import, update and export animals',
    load: async () => (await import('./pets/animals.commands.js')).AnimalsCommands,
  },
};
