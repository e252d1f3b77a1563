import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { useDatabase } from '../harness/database/database.js';
import { createOwner } from '../harness/database/factories.js';
import { ApiClient } from '../harness/http/client.js';
import { ProjectCopy } from '../harness/processes/project-copy.js';
import { startBuiltService } from '../harness/service/service.js';
import { createPets } from '../harness/database/animals.js';

const ROOT = resolve(__dirname, '../..');

const copy = new ProjectCopy();
afterAll(() => copy.remove());
const database = useDatabase({ template: 'template0' });

test('a copy of examples/orders needs no edit', async () => {
  fs.cpSync(join(ROOT, 'examples/orders'), copy.path('src/orders'), { recursive: true });
  const root = copy.path('src/app.module.ts');
  const text = fs.readFileSync(root, 'utf8').replace('imports: [', 'imports: [OrdersModule, ');
  fs.writeFileSync(root, `import { OrdersModule } from './orders/orders.module.js';\n${text}`);
  for (const script of ['deps', 'build'])
    execFileSync('npm', ['run', '--silent', script], { cwd: copy.folder, stdio: 'inherit' });

  const service = await startBuiltService(
    { DATABASE_URL: database.url },
    copy.path('dist/main.js'),
  );
  const client = new ApiClient(service, (await createOwner(database)).key);
  const [petId = ''] = await createPets(database, 1);
  const order = { petId: Number(petId) };
  expect(await client.post('/v1/orders', order)).toMatchObject({ status: 201, json: order });
  expect(await client.post('/v1/orders', order)).toMatchObject({ status: 409 });
  await service.stop();
}, 120_000);
