import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { useDatabase } from '../../harness/database/database.js';
import { send } from '../../harness/http/client.js';
import { ProjectCopy } from '../../harness/processes/project-copy.js';
import { type BuiltService, startBuiltService } from '../../harness/service/service.js';

const ASSETS = 'node_modules/swagger-ui-dist';

const database = useDatabase();
let project: ProjectCopy;
let service: BuiltService;

beforeAll(async () => {
  project = new ProjectCopy();
  const installed = dirname(require.resolve('swagger-ui-dist/package.json'));
  cpSync(installed, project.path(ASSETS), { recursive: true });
  const main = project.path('dist/main.js');
  service = await startBuiltService({ DATABASE_URL: database.url }, main);
});
afterAll(() => project.remove());

test('GET /docs and its files › 200 while npm ci replaces the packages', async () => {
  // Empty, because Node would look for removed files in the folder above.
  for (const file of readdirSync(project.path(ASSETS)))
    writeFileSync(join(project.path(ASSETS), file), '');
  const { text } = await send(service, '/docs');
  const files = [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, path]) => `/${path}`);
  expect(files.length).toBeGreaterThanOrEqual(5);
  for (const path of ['/docs', '/openapi.json', '/openapi.yaml', ...files]) {
    const response = await send(service, path);
    expect([path, response.status]).toEqual([path, 200]);
    expect(response.text).not.toBe('');
  }
});
