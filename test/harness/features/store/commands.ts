import type { CommandGroups } from '#platform';

/** The commands of the store of the platform's tests. */
export const COMMANDS: CommandGroups = {
  items: {
    description: 'add, import, update and export items',
    load: async () => (await import('./items.commands.js')).ItemsCommands,
  },
};
