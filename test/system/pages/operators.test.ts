import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readProjectFile } from '../../harness/stack/compose-file.js';
import { canIsolate, FreshMachine } from '../../harness/stack/fresh-machine.js';

const ROOT = resolve(__dirname, '../../..');
const DATABASE = 'docs/database.md';
const OPERATIONS = 'docs/operations.md';
const SYSTEMD = 'deploy/systemd/README.md';
const PAGES = [DATABASE, OPERATIONS, 'docs/sizing.md', SYSTEMD];

const FOLDER = '/opt/animal-adoption-store';
const OWNER_PASSWORD = 'owner-password';
const SERVICE_PASSWORD = 'service-password';
const REDIS_PASSWORD = 'redis-password';
/** What an operator types when a command asks for it. */
const INPUTS = {
  '\\password pets_owner': [
    OWNER_PASSWORD,
    OWNER_PASSWORD,
    SERVICE_PASSWORD,
    SERVICE_PASSWORD,
  ].join('\n'),
  '/dev/stdin /etc/animal-adoption-store/database-password': SERVICE_PASSWORD,
  '/dev/stdin /etc/animal-adoption-store/redis-url': `redis://:${REDIS_PASSWORD}@localhost:6379`,
  '/dev/stdin ~pets-operator/owner-password': OWNER_PASSWORD,
};

interface Block {
  page: string;
  code: string;
}

/** All code blocks, without their indentation. */
const blocks: Block[] = PAGES.flatMap((page) =>
  [...readProjectFile(page).matchAll(/^( *)```\w*\n(.*?)^ *```$/gms)].map(
    ([, indent = '', code = '']) => ({
      page,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  ),
);

/** Commands in the text and in tables. */
const inline = PAGES.flatMap((page) => {
  const text = readProjectFile(page).replaceAll(/^ *```[^]*?^ *```$/gm, '');
  return [
    ...text.matchAll(/`((?:docker|psql|curl|pets|kubectl|systemctl|journalctl|npm) [^`\n]+)`/g),
  ].map(([, command = '']) => command);
});

/** Commands that this test does not run, by reason. */
const NOT_RUN: Record<string, string[]> = {
  'needs a Docker Engine': [
    'docker compose exec postgres sh /docker-entrypoint-initdb.d/2-passwords.sh',
    'docker compose exec redis rm url && docker compose restart redis',
    'docker compose restart api',
    'docker compose up --detach --wait postgres redis',
    'docker compose exec postgres psql --username=pets --dbname=pets --file=/docker-entrypoint-initdb.d/1-roles.sql',
    'docker compose up --detach --wait',
    'docker compose run --rm pets …',
    'docker compose exec postgres psql --username=pets pets',
    'docker compose run --rm pets keys issue --owner "City shelter" --plan pro',
    'docker compose exec -T postgres pg_dump --username=pets --format=custom pets > pets.dump',
    'docker compose stop api',
    'docker compose exec -T postgres pg_restore --username=pets --dbname=pets --clean --if-exists --exit-on-error < pets.dump',
    'docker compose start api',
    String.raw`docker compose logs --no-log-prefix --since 10m api | grep -E '"level":(40|50|60)'`,
    'docker compose exec prometheus wget -q -T 5 -O - http://ADDRESS:3000/health/ready',
    "docker network inspect animal-adoption-store_metrics --format '{{range .Containers}}{{.IPv4Address}} {{.Name}}{{println}}{{end}}'",
    'docker compose exec load-balancer netstat -tn',
    String.raw`docker compose logs --no-log-prefix --since 10m api | grep -v '"ownerId"' | grep -o '"clientAddress":"[^"]*"' | sort | uniq -c | sort -rn | head`,
    String.raw`docker compose exec redis sh -c 'REDISCLI_AUTH=$(sed "s/.*:\(.*\)@.*/\1/" url) redis-cli info memory'`,
    'docker compose --profile monitoring up',
    'docker compose up --detach',
    'docker compose ps --all api',
    'docker compose logs --no-log-prefix --since 10m api',
  ],
  'needs a cluster': [
    'kubectl get pods -l app.kubernetes.io/component=api',
    'kubectl logs -l app.kubernetes.io/component=api --since=10m --tail=-1',
  ],
  'needs systemd as process 1': [
    "systemctl status 'animal-adoption-store@*'",
    "journalctl -u 'animal-adoption-store@*' -o cat --since -10min",
    "journalctl -u 'animal-adoption-store@*' -o cat",
  ],
  'needs the packages of development, and minutes': [
    'npm run rehearse:failover',
    'npm run rehearse:scale',
  ],
  'checks out a release': ['git checkout NEW-RELEASE', 'scripts/release.sh'],
};
const notRun = new Set(Object.values(NOT_RUN).flat());

/** Returns the commands of some lines, without indentation and comments. */
const commandsOf = (code: string): string[] =>
  code
    .split('\n')
    .map((line) => line.replace(/(?:^| +)# .*$/, '').trim())
    .filter((line) => line !== '');

test('no command of the pages writes to /tmp, where another user can create the file first', () => {
  expect(
    blocks.flatMap(({ code }) => commandsOf(code).filter((line) => line.includes('/tmp'))),
  ).toEqual([]);
});

/** Commands that no test below has run yet. */
const remaining = new Set([...blocks.flatMap(({ code }) => commandsOf(code)), ...inline]);

/** Returns the only block of a page that contains a text, for the caller to run it. */
function block(page: string, text: string): string {
  const found = blocks.filter(
    (candidate) => candidate.page === page && candidate.code.includes(text),
  );
  expect({ text, found: found.length }).toEqual({ text, found: 1 });
  for (const command of commandsOf(found[0]!.code)) remaining.delete(command);
  return found[0]!.code;
}

/** Returns a block in which comments say who runs it, as commands that change the user. */
function byUser(code: string): string {
  const asSuperuser = code.replaceAll(
    /^# As a superuser.*$/gm,
    `su --login postgres\ncd ${FOLDER}`,
  );
  const asRoot = asSuperuser.replaceAll(/^# As root.*$/gm, 'exit');
  return asSuperuser === asRoot && asSuperuser !== code ? `${asRoot}exit` : asRoot;
}

const unit = readProjectFile('deploy/systemd/animal-adoption-store@.service');
const values = (option: string): string[] =>
  [...unit.matchAll(new RegExp(`^${option}=(.*)$`, 'gm'))].map(([, value = '']) => value);

/**
 * systemd cannot run in the machine. Its own program enables units. This one starts and stops the
 * process of a unit as another user, with the environment and the credentials of the unit.
 */
const SYSTEMCTL = `#!/bin/bash
set -e
start() {
  if [ "$1" = pgbouncer ]; then
    setpriv --reuid=postgres --regid=postgres --init-groups pgbouncer /etc/pgbouncer/pgbouncer.ini </dev/null >>/var/log/$1 2>&1 &
    echo $! >/run/$1.pid
    return
  fi
  port=\${1#*@} credentials=/run/credentials/$1
  install -d -m 700 -o 64000 $credentials
  ${values('LoadCredential')
    .map((value) => value.split(':'))
    .map(([name, file]) => `install -m 400 -o 64000 ${file} $credentials/${name}`)
    .join('\n  ')}
  set -a
  ${values('Environment').join(' ').replaceAll('%i', '$port').replaceAll('%d', '$credentials')}
  . ${values('EnvironmentFile')[0]}
  set +a
  cd ${values('WorkingDirectory')[0]}
  setpriv --reuid=64000 --regid=64000 --clear-groups ${values('ExecStart')[0]} </dev/null >>/var/log/$1 2>&1 &
  echo $! >/run/$1.pid
}
stop() {
  [ -e /run/$1.pid ] || return 0
  kill $(cat /run/$1.pid)
  tail --pid=$(cat /run/$1.pid) --follow /dev/null
  rm /run/$1.pid
}
verb=$1; shift
units=()
for unit in "$@"; do
  case $unit in
    --now) ;;
    *'*') for file in /run/$unit.pid; do [ ! -e $file ] || units+=($(basename $file .pid)); done ;;
    *) units+=($unit) ;;
  esac
done
case $verb in
  daemon-reload) ;;
  enable)
    SYSTEMD_OFFLINE=1 /usr/bin/systemctl enable "\${units[@]}"
    for unit in "\${units[@]}"; do [ -e /etc/systemd/system/multi-user.target.wants/$unit.service ]; start $unit; done ;;
  *) for unit in "\${units[@]}"; do [ $verb = start ] || stop $unit; [ $verb = stop ] || start $unit; done ;;
esac
`;

const versions = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : [];
const NEEDED = [
  '/usr/bin/pg_createcluster',
  '/usr/bin/redis-server',
  '/usr/sbin/pgbouncer',
  '/usr/bin/systemctl',
];
const isPossible = canIsolate && versions.length > 0 && NEEDED.every((file) => existsSync(file));
if (!isPossible) {
  console.warn(
    'To run the commands of the pages for operators, be root on Debian with the right to create namespaces, and install postgresql, redis-server, pgbouncer and systemd.',
  );
}

(isPossible ? describe : describe.skip)('on a fresh machine', () => {
  let machine: FreshMachine;
  let key: string;

  beforeAll(async () => {
    machine = new FreshMachine();
    await machine.start();
    const repository = join(machine.folder, 'repository');
    const git = (...args: string[]): void => {
      execFileSync('git', [`--git-dir=${repository}/.git`, `--work-tree=${ROOT}`, ...args]);
    };
    execFileSync('git', ['init', '--quiet', '--initial-branch=release', repository]);
    git('add', '--all');
    git(
      '-c',
      'user.name=test',
      '-c',
      'user.email=test@localhost',
      'commit',
      '--quiet',
      '--message=Release',
    );
    writeFileSync(join(machine.folder, 'systemctl'), SYSTEMCTL, { mode: 0o755 });
    await machine.type(`git config --system --add safe.directory '*'`);
  }, 120_000);
  afterAll(() => machine.remove(), 120_000);

  /** Waits until a replica is ready. */
  const ready = (port: number): Promise<string> =>
    machine.type(
      `timeout 30 bash -c 'until curl --fail --silent http://127.0.0.1:${port}/health/ready; do sleep 0.2; done'`,
    );
  /** Sends a request to a replica, and returns the body of its response. */
  const request = async (...args: string[]): Promise<string> => {
    const header = `-H 'Authorization: Bearer ${key}'`;
    const output = await machine.type(
      `curl --fail --silent ${header} ${args.join(' ')} http://127.0.0.1:3001/v1/pets`,
    );
    return output.trim();
  };
  const addFrank = () => request('--json', `'{"name":"Frank","categoryId":1}'`);
  const superuser = (database: string, sql: string): Promise<string> =>
    machine.type(
      `su postgres --command='psql --no-psqlrc --set=ON_ERROR_STOP=1 ${database}' <<'INPUT'\n${sql}\nINPUT`,
    );

  test('the service can be built as deploy/systemd/README.md says', async () => {
    const build = block(SYSTEMD, 'git clone').replaceAll('RELEASE', 'release');
    await machine.type(build.replace('REPOSITORY', join(machine.folder, 'repository')));
    await machine.unplug();
  }, 600_000);

  test('the database and its roles can be created as docs/database.md says', async () => {
    await machine.type(`
      echo '127.0.0.1 db' >>/etc/hosts
      for folder in /etc/postgresql /var/lib/postgresql; do
        mkdir -p $folder
        mount -t tmpfs tmpfs $folder
        chown postgres $folder
      done
      pg_createcluster ${versions.at(-1)} main --start
      redis-server --daemonize yes --save '' --requirepass ${REDIS_PASSWORD}
      cp ${machine.folder}/systemctl /usr/local/bin
      printf '#!/bin/sh\nexec node ${FOLDER}/dist/cli/main.js "$@"\n' >/usr/local/bin/pets
      chmod 755 /usr/local/bin/pets`);
    await machine.type(byUser(block(DATABASE, 'createdb')), INPUTS);
    expect(await superuser('pets', 'SHOW server_encoding')).toContain('UTF8');
  }, 120_000);

  test('two replicas can be installed as deploy/systemd/README.md says', async () => {
    await machine.type(block(SYSTEMD, 'redis-url'), INPUTS);
    const file = '/etc/animal-adoption-store/environment';
    await machine.type(`cat >${file} <<'INPUT'\n${block(SYSTEMD, 'TRUST_PROXY')}INPUT`);
    const issued = await machine.type(block(SYSTEMD, 'keys issue'), INPUTS);
    key = /aas_[0-9A-Za-z]+/.exec(issued)?.[0] ?? '';
    await machine.type(block(SYSTEMD, 'enable --now'));
    for (const port of [3001, 3002]) {
      expect(await ready(port)).toContain('"database":"up","redis":"up"');
    }
    expect(await addFrank()).toContain('"id":1');
  }, 120_000);

  test('the replicas can be restarted one by one as deploy/systemd/README.md says', async () => {
    const output = await machine.type(block(SYSTEMD, 'for port in'));
    expect(output.match(/"status":"ok"/g)).toHaveLength(2);
  }, 120_000);

  test('a release can be migrated and started as docs/database.md says', async () => {
    await machine.type(block(DATABASE, 'db migrate').replace('…', OWNER_PASSWORD));
    const settings = block(DATABASE, 'MIGRATE_ON_START').replace('…', SERVICE_PASSWORD);
    const start = `${settings}PORT=3003 METRICS_PORT=13003\ncd ${FOLDER}\nexec node dist/main.js`;
    await machine.type(`(set -a\n${start}) </dev/null >/var/log/replica 2>&1 &`);
    expect(await ready(3003)).toContain('"database":"up"');
    await machine.type('kill $!; wait $!');
  }, 120_000);

  test('replicas can use PgBouncer as docs/database.md says', async () => {
    await machine.type(`cd ${FOLDER}\n${byUser(block(DATABASE, 'userlist.txt'))}`);
    const url = `postgres://pets_service:${SERVICE_PASSWORD}@localhost:6432/pets`;
    const output = await machine.type(
      `timeout 10 bash -c "until psql --command='SHOW statement_timeout' ${url}; do sleep 0.1; done"`,
    );
    expect(output).toContain(' 2s');
  });

  test('the database can be backed up, restored and used as docs/operations.md says', async () => {
    const before = await request();
    const [backup, restore] = block(OPERATIONS, 'createdb').split(/(?=^createdb)/m);
    await machine.type(byUser(backup!));
    // A change after the backup is lost.
    await addFrank();
    await machine.type(byUser(`# As a superuser\n${restore}`));
    const output = await machine.type(
      block(OPERATIONS, '@db:5432/restored').replace('…', OWNER_PASSWORD),
    );
    expect(output).toMatch(/Database: restored on db:5432/);
    expect(await ready(3001)).toContain('"database":"up"');
    expect(await request()).toBe(before);
    expect(await addFrank()).toContain('"id":2');
  }, 120_000);

  test.each(['FROM pg_stat_activity', 'SELECT handler', 'UPDATE outbox_events'])(
    'the database accepts the statement of docs/operations.md: %s',
    async (text) => {
      await superuser('restored', block(OPERATIONS, text));
    },
  );

  test('root can connect to the embedded database as docs/database.md says', async () => {
    const command = inline.find((text) => text.startsWith('psql'))!;
    remaining.delete(command);
    const folder = join(machine.folder, 'embedded');
    await machine.type(`
      mkdir ${folder}
      cd ${folder}
      PORT=3004 METRICS_PORT=13004 node ${ROOT}/dist/main.js </dev/null >/var/log/embedded 2>&1 &`);
    await ready(3004);
    expect(await machine.type(`${command} <<'INPUT'\nSELECT 7 * 7\nINPUT`)).toContain('49');
    await machine.type('kill $!; wait $!');
  }, 120_000);

  test('the other commands of the pages work', async () => {
    const commands = [...remaining].filter(
      (command) => !notRun.has(command) && /^(?:pets|ss|curl|npm) /.test(command),
    );
    const url = `postgres://pets_owner:${OWNER_PASSWORD}@localhost:5432/restored`;
    const redis = `redis://:${REDIS_PASSWORD}@localhost:6379`;
    await machine.type(`cd ${FOLDER}\nexport DATABASE_URL=${url} REDIS_URL=${redis}`);
    for (const command of commands) {
      const values: Record<string, string> = {
        ID: '1',
        NAME: 'shelter',
        PLAN: 'business',
        3000: '3001',
      };
      const typed = command.replaceAll(/\b(?:ID|NAME|PLAN|3000)\b/g, (name) => values[name]!);
      await machine.type(typed.replace(/--$/, '-- keys list'));
      remaining.delete(command);
    }
  }, 120_000);

  test('each command of the pages is run, or known not to be', () => {
    expect([...remaining].filter((command) => !notRun.has(command))).toEqual([]);
    const all = new Set([...blocks.flatMap(({ code }) => commandsOf(code)), ...inline]);
    expect([...notRun].filter((command) => !all.has(command))).toEqual([]);
  });
});
