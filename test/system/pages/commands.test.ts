import { execFileSync, spawnSync } from 'node:child_process';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { useDatabase } from '../../harness/database/database.js';
import { findPostgresPrograms } from '../../harness/database/postgres-programs.js';
import { PostgresServer } from '../../harness/database/postgres-server.js';
import { ApiClient } from '../../harness/http/client.js';
import { type CommandBlock, commandBlocks, nameOf } from '../../harness/pages/command-blocks.js';
import { Shell } from '../../harness/pages/shell.js';
import { Cli, TEAM_PROGRAM } from '../../harness/processes/command.js';
import { describeWithAnyRedis, openRedis } from '../../harness/processes/redis.js';
import { until } from '../../harness/run/until.js';
import {
  type BuiltService,
  inheritedEnvironment,
  startBuiltService,
  TEAM_MAIN,
} from '../../harness/service/service.js';

// Every block of commands of a page is run here, word for word, or listed here with the reason. Only the words in capitals that a page
// explains (REPOSITORY, DUMP) and passwords (…) are replaced.

const ROOT = resolve(__dirname, '../../..');

const blocks = commandBlocks();
const used = new Set<CommandBlock>();

/** Returns the block of a page that begins with a text, and marks it as one that is run. */
function block(page: string, start: string): CommandBlock {
  const found = blocks.find((each) => each.page === page && each.code.startsWith(start));
  if (!found) throw new Error(`${page} has no block of commands that begins with: ${start}`);
  used.add(found);
  return found;
}

const COMPOSE = 'needs Docker, which the machines of CI do not have';
const KUBERNETES = 'needs a Kubernetes cluster';
const MACHINE = 'changes users, services and /etc of the machine';
const SETTINGS = 'settings, not commands';

/** The pages and the beginnings of the blocks that are not run, by the reason. */
const NOT_RUN: Record<string, [page: string, start: string][]> = {
  [COMPOSE]: [
    ['README.md', 'docker compose up'],
    ['docs/database.md', 'docker compose exec'],
    ['docs/database.md', 'docker compose up'],
    ['docs/operations.md', 'docker compose run --rm pets keys'],
    ['docs/operations.md', 'docker compose run --rm -T pets'],
    ['docs/operations.md', 'docker compose exec -T postgres'],
    ['docs/operations.md', 'for replica in'],
    ['docs/runbook.md', 'docker compose logs'],
  ],
  [KUBERNETES]: [
    ['deploy/kubernetes/README.md', 'kubectl create secret tls'],
    ['deploy/kubernetes/README.md', 'kubectl apply -f deploy/kubernetes/migrate.yaml'],
    ['deploy/kubernetes/README.md', 'kubectl create configmap'],
    ['deploy/kubernetes/README.md', 'PRIMARY='],
  ],
  [MACHINE]: [
    ['deploy/patroni/README.md', 'apt-get install'],
    ['deploy/systemd/README.md', 'install -d -m 700 /etc'],
    ['deploy/systemd/README.md', 'useradd --system --create-home --shell /bin/bash pets-operator'],
    ['deploy/systemd/README.md', 'cp /opt/animal-adoption-store'],
    ['deploy/systemd/README.md', 'for port in'],
    ['docs/database.md', '# As a superuser of PostgreSQL'],
    ['docs/operations.md', 'install -d -m 700 -o postgres /var/backups'],
  ],
  '.ci/run runs it, with layers in memory over the folders that it writes to': [
    ['deploy/systemd/README.md', 'useradd --system --create-home --shell /bin/bash pets-build'],
  ],
  [SETTINGS]: [
    ['deploy/systemd/README.md', 'DATABASE_URL='],
    ['docs/database.md', 'DATABASE_URL=postgres://pets_service'],
    ['docs/redis.md', 'cluster-enabled yes'],
    ['docs/settings.md', 'DATABASE_URL='],
  ],
  'installs packages for the reader, which needs the network': [['docs/tracing.md', 'npm install']],
  'measures for minutes': [['docs/performance.md', 'npm run bench']],
  'needs the repository of the release, and runs all checks': [
    ['docs/upgrade.md', 'git fetch upstream'],
  ],
};

const listed = Object.values(NOT_RUN)
  .flat()
  .map(([page, start]) => block(page, start));
for (const each of listed) used.delete(each);

const checkout = {
  contribute: block('CONTRIBUTING.md', 'git clone'),
  start: block('README.md', 'git clone'),
  tryIt: block('README.md', '$ curl'),
  client: block('docs/clients.md', 'npm init'),
  authenticate: block('docs/clients.md', 'curl -sS "$STORE_URL/v1/pets?limit=1" -H'),
  issueKey: block('docs/clients.md', 'pets keys issue'),
  requests: [
    block('docs/clients.md', 'curl -sS --retry 5'),
    block('docs/clients.md', "query='limit=100'"),
    block('docs/clients.md', 'for attempt in first second; do\n  curl -sS --etag-save'),
    block('docs/clients.md', 'key=$(cat'),
    block('docs/clients.md', 'curl -sS "$STORE_URL/v1/pets" -H'),
    block('docs/clients.md', 'curl -sS -o /dev/null -D -'),
  ],
  generateFeature: block('docs/extending.md', 'npx nest generate'),
  generateMigration: block('docs/extending.md', 'npm run cli -- db generate'),
};
const operators = {
  commands: block('docs/commands.md', 'pets keys issue'),
  runbook: [
    block('docs/runbook.md', '$ pets keys list'),
    block('docs/runbook.md', '$ pets keys inspect 3 |'),
    block('docs/runbook.md', '$ pets owners usage'),
    block('docs/runbook.md', '$ pets keys usage 3'),
  ],
  leak: block('SECURITY.md', 'pets keys inspect -'),
};
const server = {
  createRoles: block('docs/database.md', '# As a superuser, in the folder'),
  migrate: block('docs/database.md', 'DATABASE_URL=postgres://pets_owner'),
  restore: block('docs/operations.md', 'createdb --encoding=UTF8 --template=template0 restored'),
  rename: block('docs/operations.md', 'psql --set=ON_ERROR_STOP=1 --dbname=postgres'),
};

test('every block of commands is run, or listed with the reason', () => {
  const unknown = blocks.filter((each) => !used.has(each) && !listed.includes(each));
  expect(unknown.map(nameOf)).toEqual([]);
  const both = listed.filter((each) => used.has(each));
  expect(both.map(nameOf)).toEqual([]);
});

const folders: string[] = [];
const shells: Shell[] = [];
const services: BuiltService[] = [];
afterEach(async () => {
  for (const shell of shells.splice(0)) await shell.end();
  await Promise.all(services.splice(0).map((service) => service.stop()));
  for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true, force: true });
});

/** Returns a new folder that the user of PostgreSQL can reach. */
function temporaryFolder(): string {
  const folder = fs.mkdtempSync(join(tmpdir(), 'pets-pages-'));
  fs.chmodSync(folder, 0o755);
  folders.push(folder);
  return folder;
}

/** Creates programs that take the place of others. Returns their folder. */
function programs(scripts: Record<string, string>): string {
  const folder = temporaryFolder();
  for (const [name, script] of Object.entries(scripts))
    fs.writeFileSync(join(folder, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return folder;
}

const hasNamespaces =
  spawnSync('unshare', [
    ...(process.getuid?.() === 0 ? [] : ['--map-root-user']),
    '--net',
    'ip',
    'link',
    'set',
    'lo',
    'up',
  ]).status === 0;
if (!hasNamespaces) process.stderr.write('Skipped: needs unshare and ip (Debian: iproute2).\n');

(hasNamespaces ? test : test.skip)(
  'README.md, CONTRIBUTING.md, docs/clients.md and docs/extending.md › a new checkout',
  async () => {
    const folder = temporaryFolder();
    const repository = join(folder, 'repository');
    createRepository(repository);
    const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
    // .ci/run runs `npm ci`.
    const path = programs({
      npm: `[ "$1" = ci ] && exec ln -s ${ROOT}/node_modules node_modules\nexec ${npm} "$@"`,
      pets: `exec node ${folder}/store/dist/cli/main.js "$@"`,
    });
    const env = { ...inheritedEnvironment(), PATH: `${path}:${process.env['PATH']}` };
    const shell = new Shell(folder, env, true);
    shells.push(shell);
    const cloned = (each: CommandBlock) => each.code.replace('REPOSITORY', repository);

    /** Runs a block that ends with the start of the service, until it responds, in the background. */
    const start = (each: CommandBlock) =>
      shell.run(
        each,
        `setsid bash -e -c '${cloned(each)}' > service.log 2>&1 &
        service=$!
        for attempt in $(seq 600); do
          curl --silent --output /dev/null http://127.0.0.1:3000/health/ready && break
          kill -0 $service && sleep 0.1
        done
        curl --silent --fail http://127.0.0.1:3000/health/ready || { cat service.log; false; }`,
      );
    const stop = () => shell.run('stop', 'kill -TERM -- -$service; wait $service || true');

    await start(checkout.contribute);
    await stop();
    await shell.run('another folder', 'mv store contributed');
    await start(checkout.start);
    await shell.run('the folder of the checkout', 'cd store');

    for (const [command, expected] of sessionOf(checkout.tryIt))
      expect((await shell.run(checkout.tryIt, command)).trim()).toBe(expected);
    await shell.run('another folder', 'mkdir ../client && cd ../client');
    await shell.run(checkout.client);
    await shell.run('the demo key', 'API_KEY=$(cat ../store/.data/demo-key); cd ../store');
    expect(await shell.run(checkout.authenticate)).toMatch(/^\[\{"id":1,/);
    expect(await shell.run(checkout.issueKey)).toMatch(/^key +aas_/m);
    await shell.run('another folder', 'cd ../client');
    const outputs: string[] = [];
    for (const each of checkout.requests) outputs.push(await shell.run(each));
    expect(outputs.join('\n')).not.toContain('"code"');
    expect(outputs[2]).toBe('200\n304\n');
    expect(outputs[4]).toContain('"categoryId":9223372036854775807');
    expect(outputs[5]).toMatch(/^ratelimit: "minute";/im);

    await stop();
    await shell.run('the folder of the checkout', 'cd ../store');
    expect(await shell.run(checkout.generateFeature)).toContain('src/toys/toys.module.ts');
    expect(await shell.run(checkout.generateMigration)).toMatch(/^file +-$/m);
  },
  300_000,
);

/** Creates a repository of the files of the project as they are, also those without a commit. */
function createRepository(folder: string): void {
  const git = (cwd: string, ...args: string[]) =>
    execFileSync('git', args, { cwd, encoding: 'utf8', maxBuffer: 1e8 });
  const options = ['--cached', '--others', '--exclude-standard', '-z'];
  for (const name of git(ROOT, 'ls-files', ...options).split('\0')) {
    if (name && fs.existsSync(join(ROOT, name))) fs.cpSync(join(ROOT, name), join(folder, name));
  }
  git(folder, 'init', '--quiet', '--initial-branch=main');
  git(folder, 'add', '--all');
  const author = ['-c', 'user.name=test', '-c', 'user.email=test@example.org'];
  git(folder, ...author, 'commit', '--quiet', '--message=files');
}

/** Returns the commands of a console and their outputs. */
function sessionOf({ code }: CommandBlock): [command: string, output: string][] {
  return code
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = '', ...output] = text.split('\n');
      return [command, output.join('\n').trim()];
    });
}

/** The commands that fail here, and how. */
const FAILURES: [command: string, message: RegExp][] = [
  ['pets animals remove', /Confirm with --yes/],
  ['pets keys revoke', /Confirm with --yes/],
  ['pets db copy-embedded', /There is no database in/],
];

describeWithAnyRedis('docs/commands.md, docs/runbook.md and SECURITY.md', () => {
  const database = useDatabase();

  test('each command', async () => {
    const redis = await openRedis();
    const folder = temporaryFolder();
    await database.query(`
      INSERT INTO owners (name, plan) VALUES ('City shelter', 'pro');
      INSERT INTO api_keys (id, owner_id, hash, hint) OVERRIDING SYSTEM VALUE
      SELECT 3, id, sha256(''), '' FROM owners;
      ALTER TABLE api_keys ALTER COLUMN id RESTART WITH 17;
      INSERT INTO pets (id, name, category_id, status) OVERRIDING SYSTEM VALUE
      VALUES (42, 'Frank', 1, 'available'), (43, 'Luna', 1, 'pending')`);
    fs.writeFileSync(join(folder, 'animals.csv'), 'name,categoryId\nMomo,1\n');
    fs.mkdirSync(join(folder, 'src'));
    fs.writeFileSync(join(folder, 'src/app.module.ts'), '');
    const settings = {
      DATABASE_URL: database.url,
      REDIS_URL: redis.url,
      REDIS_PREFIX: database.name,
    };
    // The host of this worker, which has loaded the code, runs the commands that read and write no file.
    const parsed = join(folder, 'arguments');
    const path = programs({
      pets: `[ -p /dev/stdout ] && exec node ${TEAM_PROGRAM} "$@"
      case "$*" in
        *" -"|*import*|*export*|*update*|*generate*|*copy-embedded*) exec node ${TEAM_PROGRAM} "$@" ;;
        *) printf '%s\\0' "$@" > ${parsed} ;;
      esac`,
    });
    const env = {
      ...inheritedEnvironment(),
      ...settings,
      DATA_DIR: join(folder, 'none'),
      PATH: `${path}:${process.env['PATH']}`,
    };
    const shell = new Shell(folder, env);
    shells.push(shell);
    const cli = new Cli(settings, { app: true });
    let key = '';
    const runLine = async (each: CommandBlock, line: string): Promise<string> => {
      fs.rmSync(parsed, { force: true });
      const output = await shell.run(each, line, `${key}\n`);
      if (!fs.existsSync(parsed)) return output;
      const result = await cli.run(...fs.readFileSync(parsed, 'utf8').split('\0').slice(0, -1));
      if (result.code === 0) return result.stdout;
      throw new Error(`${nameOf(each)} has failed:\n${line}\n${result.stderr}`);
    };
    for (const each of operators.runbook)
      for (const [line] of sessionOf(each)) await runLine(each, line);
    for (const each of [operators.commands, operators.leak]) {
      for (const line of each.code.split('\n').filter((text) => text.startsWith('pets '))) {
        const [, failure] = FAILURES.find(([command]) => line.startsWith(command)) ?? [];
        const result = runLine(each, line.replace('rotate ID', 'rotate 18'));
        if (failure) await expect(result).rejects.toThrow(failure);
        else key = /^key +(\S+)$/m.exec(await result)?.[1] ?? key;
      }
    }
    await redis.close();
  }, 240_000);
});

const postgres = findPostgresPrograms();

(postgres === undefined ? test.skip : test)(
  'docs/database.md and docs/operations.md › a backup takes the old name, and replicas use it without a restart',
  async () => {
    const running = await PostgresServer.create(postgres!, { fsync: 'off' });
    try {
      const { hostname: PGHOST, port: PGPORT } = new URL(running.url);
      const env = {
        ...inheritedEnvironment(),
        PGHOST,
        PGPORT,
        PGUSER: 'postgres',
        PGCONNECT_TIMEOUT: '5',
        PATH: `${programs({ pets: `exec node ${TEAM_PROGRAM} "$@"` })}:${process.env['PATH']}`,
      };
      const shell = new Shell(ROOT, env);
      shells.push(shell);
      const passwords = 'owner\nowner\nservice\nservice\n';
      await shell.run(server.createRoles, server.createRoles.code, passwords);
      const address = (text: string) => text.replace('…@db:5432', `x@${PGHOST}:${PGPORT}`);
      await shell.run(server.migrate, address(server.migrate.code));

      const storeOf = (role: string) => `postgres://${role}@${PGHOST}:${PGPORT}/pets`;
      const issue = 'pets keys issue --owner a --plan pro --json 2>/dev/null';
      const issued = await shell.run('issue', `DATABASE_URL=${storeOf('pets_owner')} ${issue}`);
      const { key } = JSON.parse(issued) as { key: string };
      for (let count = 0; count < 2; count += 1) {
        const settings = { DATABASE_URL: storeOf('pets_service'), MIGRATE_ON_START: 'false' };
        services.push(await startBuiltService(settings, TEAM_MAIN));
      }
      const clients = services.map((service) => new ApiClient(service, key));
      const add = (name: string) => clients[0]!.post('/v1/pets', { name, categoryId: 1 });
      const names = async (client: ApiClient) => {
        const { status, json } = await client.get('/v1/pets');
        return status === 200 ? (json as { name: string }[]).map(({ name }) => name) : status;
      };

      expect(await add('Before')).toMatchObject({ status: 201 });
      const dumps = temporaryFolder();
      const old = join(dumps, 'pets-2020-01-01T03-00-00Z.dump');
      fs.writeFileSync(old, '');
      fs.utimesSync(old, 0, 0);
      await shell.run('deploy/postgres/backup.sh', `sh deploy/postgres/backup.sh ${dumps} 14`);
      const [dump = '', ...others] = fs.readdirSync(dumps);
      expect([dump, ...others]).toEqual([expect.stringMatching(/^pets-20\d\d-.+Z\.dump$/)]);
      expect(await add('After')).toMatchObject({ status: 201 });
      for (const client of clients) expect(await names(client)).toEqual(['Before', 'After']);

      await shell.run(server.restore, server.restore.code.replace('DUMP', join(dumps, dump)));
      await shell.run(server.rename);
      for (const client of clients) {
        await until(async () => Array.isArray(await names(client)));
        expect(await names(client)).toEqual(['Before']);
      }
      expect(await add('New')).toMatchObject({ status: 201, json: { id: 2 } });
    } finally {
      for (const shell of shells.splice(0)) await shell.end();
      await Promise.all(services.splice(0).map((service) => service.stop()));
      await running.remove();
    }
  },
  120_000,
);
