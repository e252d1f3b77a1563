import * as errorsOfPets from '../../../src/pets/pets.errors.js';
import { ERRORS } from '../../../src/platform/errors/catalogue.js';
import { Description } from '../../harness/http/description.js';
import { useStore } from '../../harness/http/store.js';
import {
  codesIn,
  commandsIn,
  documentedCommands,
  rowsOf,
  sorted,
} from '../../harness/pages/tables.js';
import { Cli } from '../../harness/processes/command.js';

const STATUS_OF: Record<string, number> = {
  ...Object.fromEntries(Object.entries(ERRORS).map(([code, { status }]) => [code, status])),
  ...Object.fromEntries(
    // The others are functions, and public messages.
    Object.values(errorsOfPets).flatMap((error) =>
      typeof error === 'object' ? [[error.code, error.status]] : [],
    ),
  ),
};

const store = useStore({ app: true });

test('docs/clients.md has each code of the description, with its status', async () => {
  const description = await Description.of(store.service);
  const { Error: schema } = description.document.components.schemas;
  const rows = rowsOf('docs/clients.md', 'status', 'code');
  const codes = rows.map((row) => codesIn(row['code'] ?? ''));
  expect(codes.flat().sort()).toEqual([...(schema.properties.code.enum as string[])].sort());
  for (const [index, row] of rows.entries()) {
    const statuses = codes[index]?.map((code) => String(STATUS_OF[code]));
    // A 417 has a code of 400.
    expect(sorted(statuses ?? [])).toEqual(row['status']?.replace(', 417', '').split(', '));
  }
});

test('docs/commands.md has each command of the animals', async () => {
  const { stdout } = await new Cli({}, { app: true }).run('animals', '--help');
  expect(documentedCommands('animals')).toEqual(commandsIn(stdout));
});
