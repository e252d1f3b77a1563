import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { join, resolve } from 'node:path';
import { PRODUCT } from '../../src/product.js';
import { useDatabase } from '../harness/database/database.js';
import { findPostgresPrograms } from '../harness/database/postgres-programs.js';
import { PostgresServer } from '../harness/database/postgres-server.js';
import { ApiClient } from '../harness/http/client.js';
import { ANIMAL_BLOCKS, isAnimalsCommand } from '../harness/pages/animal-blocks.js';
import {
  BLOCKS,
  type CommandBlock,
  findBlock,
  nameOf,
  sessionOf,
} from '../harness/pages/command-blocks.js';
import {
  endShells,
  hostedProgram,
  openShell,
  Operator,
  pathWith,
  temporaryFolder,
  untilReady,
} from '../harness/pages/reader.js';
import { hasNamespaces } from '../harness/pages/shell.js';
import { makeCluster } from '../harness/processes/embedded-user.js';
import { NODE } from '../harness/processes/node.js';
import { describeWithAnyRedis, openRedis } from '../harness/processes/redis.js';
import { until } from '../harness/run/until.js';
import {
  inheritedEnvironment,
  startService,
  type TestService,
} from '../harness/service/service.js';
import { createRepository } from '../harness/pages/repository.js';
import { readProjectFile } from '../harness/stack/compose-file.js';
import { PACKAGES } from '../harness/run/packages.js';

// Every block of commands of a page is run here, word for word, or listed here with the reason. test/docs/animals runs the
// blocks that need the animals. Only the words in capitals that a page explains (REPOSITORY, DUMP) and passwords (…) are replaced.

const ROOT = resolve(__dirname, '../..');
const OPERATIONS = readProjectFile('docs/operations.md');

const used = new Set<CommandBlock>(Object.values(ANIMAL_BLOCKS));

/** Returns the block of a page that begins with a text, and marks it as one that is run. */
function block(page: string, start: string): CommandBlock {
  const found = findBlock(page, start);
  used.add(found);
  return found;
}

const COMPOSE = 'needs Docker, which the machines of CI do not have';
const KUBERNETES = 'needs a Kubernetes cluster';
const MACHINE = 'changes users, services and /etc of the machine';
const SETTINGS = 'settings, not commands';

const SELECT_RELEASE =
  'ln --symbolic --force --no-dereference animal-adoption-store-RELEASE /opt/animal-adoption-store\n';
const INSTALL_COMMAND = `${SELECT_RELEASE}printf`;

/** The pages and the beginnings of the blocks that are not run, by the reason. */
const NOT_RUN: Record<string, [page: string, start: string][]> = {
  [COMPOSE]: [
    ['README.md', 'docker compose up'],
    ['docs/database.md', 'docker compose exec'],
    ['docs/database.md', 'docker compose up'],
    ['docs/operations.md', 'docker compose run --rm pets keys'],
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
    ['deploy/systemd/README.md', 'groupadd --system pets-operators'],
    ['deploy/systemd/README.md', 'useradd --create-home --shell /bin/bash --groups'],
    ['deploy/systemd/README.md', 'cp /opt/animal-adoption-store'],
    ['deploy/systemd/README.md', 'node --env-file'],
    ['docs/database.md', '# As a superuser of PostgreSQL'],
    ['docs/operations.md', 'useradd --system pets-backup'],
  ],
  '.ci/run --nightly runs it, with layers in memory over the folders that it writes to': [
    ['deploy/systemd/README.md', 'useradd --system --create-home --shell /bin/bash pets-build'],
    ['deploy/systemd/README.md', 'su --login pets-build'],
    ['deploy/systemd/README.md', INSTALL_COMMAND],
  ],
  [SETTINGS]: [
    ['deploy/systemd/README.md', 'DATABASE_URL=postgres://pets_service'],
    ['deploy/systemd/README.md', 'DATABASE_URL=postgres://pets_owner'],
    ['docs/database.md', 'DATABASE_URL=postgres://pets_service'],
    ['docs/operations.md', 'RUN_IN='],
    ['docs/redis.md', 'cluster-enabled yes'],
    ['docs/settings.md', 'DATABASE_URL='],
  ],
  'installs packages for the reader, which needs the network': [['docs/tracing.md', 'npm install']],
  'measures for minutes': [
    ['docs/performance.md', 'npm run bench -- --processes'],
    ['docs/performance.md', 'npm run bench -- --replay'],
  ],
  'needs the repository of the release, and runs all checks': [
    ['docs/upgrade.md', 'git fetch upstream'],
  ],
};

const listed = Object.values(NOT_RUN)
  .flat()
  .map(([page, start]) => block(page, start));
for (const each of listed) used.delete(each);

const checkout = {
  start: block('README.md', 'git clone'),
  issueKey: block('docs/clients.md', 'pets keys issue'),
};
// test/docs/tutorial.nightly.test.ts runs them.
for (const each of BLOCKS) if (each.page === 'docs/tutorial.md') used.add(each);
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
  createRoles: block('docs/database.md', '# As a superuser (with'),
  migrate: block('docs/database.md', 'DATABASE_URL=postgres://pets_owner'),
  restoreToNew: block('docs/operations.md', 'createdb --encoding=UTF8'),
  restore: block('docs/operations.md', 'dropdb --if-exists restored'),
  rename: block('docs/operations.md', 'old=pets_before'),
};
const deploy = block('deploy/systemd/README.md', `${SELECT_RELEASE}for port`);

test('every block of commands is run, or listed with the reason', () => {
  const unknown = BLOCKS.filter((each) => !used.has(each) && !listed.includes(each));
  expect(unknown.map(nameOf)).toEqual([]);
  const both = listed.filter((each) => used.has(each));
  expect(both.map(nameOf)).toEqual([]);
});

const services: TestService[] = [];
const stopServices = () => Promise.all(services.splice(0).map((service) => service.close()));
afterEach(async () => {
  await endShells();
  await stopServices();
});

(hasNamespaces ? test : test.skip)(
  'README.md and docs/clients.md › a new checkout',
  async () => {
    const folder = temporaryFolder();
    const repository = join(folder, 'repository');
    // Those that the start needs.
    createRepository(repository, 'src', 'scripts', '*.json', '.swcrc');
    const npm = execFileSync('sh', ['-c', 'command -v npm'], { encoding: 'utf8' }).trim();
    // .ci/run runs `npm ci`, and test/scripts tries the build of a new checkout.
    execFileSync(process.execPath, [join(ROOT, 'scripts/build.mjs')]);
    // The tests of the embedded database create a cluster.
    const cluster = join(folder, 'cluster');
    fs.mkdirSync(cluster);
    await makeCluster(cluster);
    const install = `ln -s ${PACKAGES} node_modules && mv ${cluster} .data && exec cp -r ${join(ROOT, 'dist')} .`;
    const PATH = pathWith({
      npm: `[ "$1" = ci ] && ${install}\nexec ${npm} "$@"`,
      pets: `exec ${NODE.join(' ')} ${folder}/store/dist/cli/main.js "$@"`,
    });
    const shell = openShell(folder, { ...inheritedEnvironment(), PATH }, true);
    const cloned = (each: CommandBlock) => each.code.replace('REPOSITORY', repository);

    /** Runs a block that ends with the start of the service, until it responds, in the background. */
    const start = (each: CommandBlock) =>
      shell.run(each, untilReady(`bash -e -c '${cloned(each)}'`));
    const stop = () => shell.run('stop', 'kill -TERM -- -$service; wait $service || true');

    await start(checkout.start);
    await shell.run('the folder of the checkout', 'cd store');

    expect(await shell.run(checkout.issueKey)).toMatch(RegExp(`^key +${PRODUCT.keyPrefix}`, 'm'));
    await stop();
  },
  300_000,
);

/** The commands that fail here, and how. */
const FAILURES: [command: string, message: RegExp][] = [
  ['pets keys revoke', /Confirm with --yes/],
  ['pets owners remove', /Confirm with --yes/],
  ['pets db copy-embedded', /There is no database in/],
];

describeWithAnyRedis('docs/commands.md, docs/runbook.md and SECURITY.md', () => {
  const database = useDatabase();

  test('each command', async () => {
    const redis = await openRedis();
    await database.query(`
      INSERT INTO owners (name, plan) VALUES ('City shelter', 'pro'), ('City sheltr', 'free');
      INSERT INTO api_keys (id, owner_id, hash, hint) OVERRIDING SYSTEM VALUE
      SELECT 3, id, sha256(''), '' FROM owners WHERE plan = 'pro';
      ALTER TABLE api_keys ALTER COLUMN id RESTART WITH 17`);
    const settings = { REDIS_URL: redis.url, REDIS_PREFIX: database.name };
    const operator = await Operator.on(database, settings);
    let key = '';
    const runLine = (each: CommandBlock, line: string) => operator.run(each, line, `${key}\n`);
    for (const each of operators.runbook)
      for (const [line] of sessionOf(each)) await runLine(each, line);
    for (const each of [operators.commands, operators.leak]) {
      const lines = each.code.split('\n').filter((line) => line.startsWith('pets '));
      for (const line of lines.filter((text) => !isAnimalsCommand(text))) {
        const [, failure] = FAILURES.find(([command]) => line.startsWith(command)) ?? [];
        const result = runLine(each, line.replace('rotate ID', 'rotate 18'));
        if (failure) await expect(result).rejects.toThrow(failure);
        else key = /^key +(\S+)$/m.exec(await result)?.[1] ?? key;
      }
    }
    await redis.close();
  }, 240_000);
});

/** A replica that becomes ready at the second request, unless its release is not the good one: node -e … PORT RELEASE. */
const REPLICA = `
let requests = 0;
require('http').createServer((request, response) => {
  const isReady = request.url === '/health/ready' && ++requests > 1 && process.argv[2].endsWith('-good');
  response.writeHead(isReady ? 200 : 503).end();
}).listen(process.argv[1], '127.0.0.1')`;

(hasNamespaces ? test : test.skip)(
  'deploy/systemd/README.md › the replicas restart one by one, and no other one after one that is not ready',
  async () => {
    const folder = temporaryFolder();
    fs.writeFileSync(join(folder, 'replica.js'), REPLICA);
    const PATH = pathWith({
      ln: 'echo "$4" > selected',
      systemctl: `echo "$*" >> log
        port=\${2#*@}
        [ ! -e $port ] || kill $(cat $port)
        node -e "$(cat replica.js)" $port $(cat selected) > /dev/null 2>&1 & echo $! > $port`,
    });
    const shell = openShell(folder, { ...inheritedEnvironment(), PATH }, true);
    const log = () => fs.readFileSync(join(folder, 'log'), 'utf8').trim().split('\n');
    const [first, second] = [3001, 3002].map((port) => `restart animal-adoption-store@${port}`);
    const code = deploy.code.replace('--retry 60', '--retry 5');
    try {
      await shell.run(deploy, code.replaceAll('RELEASE', 'good'));
      expect(log()).toEqual([first, second]);
      await shell.run(deploy, code.replaceAll('RELEASE', 'bad'));
      expect(log()).toEqual([first, second, first]);
    } finally {
      await shell.run('stop', 'kill $(cat 3001 3002)');
    }
  },
);

const postgres = findPostgresPrograms();

/** The commands need no superuser. This is the administrator of a managed server. */
const ADMINISTRATOR = 'admin';
const PASSWORDS = 'owner\nowner\nservice\nservice\n';

/** Starts a server, and returns it with a shell of its administrator in the folder of the project. */
async function startServer() {
  const running = await PostgresServer.create(postgres!, {}, { isEmpty: true });
  await running.query(`CREATE ROLE ${ADMINISTRATOR} LOGIN CREATEROLE CREATEDB`);
  const { hostname, port } = new URL(running.url);
  const shell = openShell(ROOT, {
    ...inheritedEnvironment(),
    PGHOST: hostname,
    PGPORT: port,
    PGUSER: ADMINISTRATOR,
    PGCONNECT_TIMEOUT: '5',
    PATH: pathWith({ pets: await hostedProgram() }),
  });
  const storeOf = (role: string) => `postgres://${role}@${hostname}:${port}/pets`;
  const env = () => ({ DATABASE_URL: storeOf('pets_service'), MIGRATE_ON_START: 'false' });
  const startReplica = () => startService({ database: running.database, env: env() });
  return { running, shell, storeOf, startReplica };
}

async function namesOf(client: ApiClient): Promise<string[] | number> {
  const { status, json } = await client.get('/v1/items');
  return status === 200 ? (json as { name: string }[]).map(({ name }) => name) : status;
}

(postgres === undefined ? test.skip : test)(
  'docs/database.md and docs/operations.md › a backup replaces a database that replicas use, and moves to a new server',
  async () => {
    const { running, shell, storeOf, startReplica } = await startServer();
    const started = [running];
    try {
      await shell.run(server.createRoles, server.createRoles.code, PASSWORDS);
      const own = server.migrate.code.replace(/postgres:\S+/, storeOf('pets_owner'));
      await shell.run(server.migrate, own);

      const issue = 'pets keys issue --owner a --plan pro --json 2>/dev/null';
      const issued = await shell.run('issue', `DATABASE_URL=${storeOf('pets_owner')} ${issue}`);
      const { key } = JSON.parse(issued) as { key: string };
      for (let count = 0; count < 2; count += 1) services.push(await startReplica());
      const clients = services.map((service) => new ApiClient(service, key));
      const add = (name: string) => clients[0]!.post('/v1/items', { name, categoryId: 1 });

      expect(await add('Before')).toMatchObject({ status: 201 });
      const dumps = temporaryFolder();
      const old = join(dumps, 'pets-2020-01-01T03-00-00Z.dump');
      fs.writeFileSync(old, '');
      fs.utimesSync(old, 0, 0);
      const backup = `PGUSER=pets_owner sh deploy/postgres/backup.sh ${dumps} 14`;
      await shell.run('deploy/postgres/backup.sh', backup);
      const [dump = '', ...others] = fs.readdirSync(dumps);
      expect([dump, ...others]).toEqual([expect.stringMatching(/^pets-20\d\d-.+Z\.dump$/)]);
      expect(await add('After')).toMatchObject({ status: 201 });
      for (const client of clients) expect(await namesOf(client)).toEqual(['Before', 'After']);

      await shell.run(server.restore, server.restore.code.replace('DUMP', join(dumps, dump)));
      await shell.run(server.rename);
      for (const client of clients) {
        await until(async () => Array.isArray(await namesOf(client)));
        expect(await namesOf(client)).toEqual(['Before']);
      }
      expect(await add('New')).toMatchObject({ status: 201, json: { id: 2 } });

      // A second restore, also after one that has stopped half-way.
      await shell.run('half', 'createdb --template=template0 restored');
      await shell.run(server.restore, server.restore.code.replace('DUMP', join(dumps, dump)));
      await shell.run(server.rename);
      for (const client of clients) {
        await until(async () => Array.isArray(await namesOf(client)));
        expect(await namesOf(client)).toEqual(['Before']);
      }
      const kept = `psql --tuples-only --csv --dbname=postgres --command="SELECT datname, datallowconn FROM pg_database WHERE datname LIKE 'pets%' ORDER BY 1"`;
      expect(await shell.run('kept', kept)).toMatch(
        /^pets,t\npets_before_\d+,t\npets_before_\d+,t\n$/,
      );

      // Without the right to create databases, into the database itself.
      expect(await add('Too much')).toMatchObject({ status: 201 });
      await stopServices();
      await running.query(`ALTER ROLE ${ADMINISTRATOR} NOCREATEDB`);
      const [, clean = ''] = /`(pg_restore --clean [^`]+)`/.exec(OPERATIONS) ?? [];
      await shell.run('pg_restore --clean', clean.replace('DUMP', join(dumps, dump)));
      services.push(await startReplica());
      expect(await namesOf(new ApiClient(services[0]!, key))).toEqual(['Before']);

      const other = await startServer();
      started.push(other.running);
      const code = server.restoreToNew.code.replace('DUMP', join(dumps, dump));
      await other.shell.run(server.restoreToNew, code, PASSWORDS);
      services.push(await other.startReplica());
      expect(await namesOf(new ApiClient(services[1]!, key))).toEqual(['Before']);

      // The dump of a server with another role.
      await stopServices();
      const foreign = join(dumps, 'foreign.dump');
      const reassign = `psql --dbname=pets --command='CREATE ROLE shop' --command='REASSIGN OWNED BY pets_owner TO shop'`;
      const dumpForeign = `${reassign} && pg_dump --format=custom --file=${foreign} pets`;
      await shell.run('foreign dump', `(export PGUSER=postgres; ${dumpForeign})`);
      await other.shell.run('dropdb', 'dropdb --force pets');
      const [, options = ''] = /`(--no-owner [^`]+)`/.exec(OPERATIONS) ?? [];
      const lines = server.restoreToNew.code.replace('DUMP', `${options} ${foreign}`);
      await other.shell.run(server.restoreToNew, lines, PASSWORDS);
      const [, roles = ''] = /^(psql .*roles\.sql)$/m.exec(lines) ?? [];
      await other.shell.run('roles.sql', roles);
      services.push(await other.startReplica());
      expect(await namesOf(new ApiClient(services.at(-1)!, key))).toEqual(['Before']);
    } finally {
      await endShells();
      await stopServices();
      for (const each of started) await each.remove();
    }
  },
  300_000,
);
