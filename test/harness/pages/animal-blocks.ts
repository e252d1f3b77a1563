import { findBlock } from './command-blocks.js';

/**
 * The blocks that need the animals: their operations, texts or demo data. test/docs/animals/pages.system.test.ts
 * runs them, because the animals belong to the team.
 */
export const ANIMAL_BLOCKS = {
  tryIt: findBlock('README.md', '$ curl'),
  client: findBlock('docs/clients.md', 'npm init'),
  authenticate: findBlock('docs/clients.md', 'curl -sS "$STORE_URL/v1/pets?limit=1" -H'),
  retry: findBlock('docs/clients.md', 'curl -sS --retry 5'),
  listToTheEnd: findBlock('docs/clients.md', "query='limit=100'"),
  refresh: findBlock('docs/clients.md', 'for attempt in first second; do\n  curl -sS --etag-save'),
  addOnce: findBlock('docs/clients.md', 'key=$(cat'),
  addInt64: findBlock('docs/clients.md', 'curl -sS "$STORE_URL/v1/pets" -H'),
  limits: findBlock('docs/clients.md', 'curl -sS -o /dev/null -D -'),
};

/** Whether a line of a block is a command of the animals for operators. */
export const isAnimalsCommand = (line: string): boolean => line.startsWith('pets animals ');
