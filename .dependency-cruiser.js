// @ts-check
// Which folder of src may import which (docs/architecture.md).

/** @param {string} name a folder of src/platform, or a file in it */
const platform = (name) => `^src/platform/${name}(?:/|\\.ts$)`;

/** What the folders of src/platform may import besides themselves. A folder that is not listed here may import all. */
const ALLOWED = {
  errors: [],
  config: ['errors/start-error'],
  'database/embedded': ['config/database-settings', 'errors/start-error'],
  logging: ['config', 'errors/error-details'],
  tracing: ['errors'],
  metrics: ['config'],
  database: ['config', 'errors', 'logging', 'tracing'],
  'http/request': ['config', 'errors'],
  'http/body': ['config', 'errors', 'http/request', 'http/response'],
  'http/validation': ['errors', 'http/request'],
  'http/routing': ['config', 'errors', 'http/request'],
  'http/response': ['config', 'errors', 'http/request'],
  'http/paging': ['errors', 'http/response', 'http/validation'],
  http: ['config', 'errors'],
  access: ['config', 'database', 'errors', 'http/request', 'metrics'],
  'rate-limit': [
    'config',
    'errors',
    'logging',
    'metrics',
    'tracing',
    'http/request',
    'access/authenticator',
    'access/usage/key-usage',
  ],
  idempotency: ['config', 'database', 'errors', 'http'],
  commands: [
    'access',
    'config',
    'database',
    'errors',
    'logging',
    'http/body',
    'http/validation',
    'http/response/json-text',
    'process/process.module',
    'rate-limit',
  ],
  events: ['config', 'database', 'errors', 'metrics'],
  process: [
    'access/usage/key-usage',
    'config',
    'database',
    'errors',
    'health',
    'http',
    'logging',
    'metrics',
    'tracing',
  ],
};

/** What a team changes. */
const PRODUCT = '^src/(?:product|plans)\\.ts$';
const COMMANDS = '^src/commands\\.ts$';
const APP = '^src/app\\.module\\.ts$';

/** Any feature. A rule that compares two features captures the name as $1. */
const FEATURE = '^src/(?!(?:platform|cli|demo)/)([^/]+)/';

/** The kinds of files that several features may use. */
const SHARED = 'decorator|filter|guard|interceptor|middleware|pipe';

/**
 * @param {string} name
 * @param {string} from a pattern of files
 * @param {string | string[]} to patterns of files that they must not import
 * @param {string[]} [except] patterns of files that they may import
 * @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const rule = (name, from, to, except) => ({
  name,
  severity: 'error',
  from: { path: from },
  to: { path: to, ...(except && { pathNot: except }) },
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    ...Object.entries(ALLOWED).map(([name, allowed]) =>
      rule(name, platform(name), '^src/', [name, ...allowed].map(platform)),
    ),
    // So that the folder could be a package.
    rule('platform-imports-only-packages', '^src/platform/', '^src/(?!platform/)'),
    rule('feature', FEATURE, '^src/', [
      '^src/$1/',
      `${FEATURE}[^/]+\\.(?:module|service|errors|${SHARED})\\.ts$`,
      platform('index'),
      PRODUCT,
    ]),
    rule('cli', '^src/cli/', '^src/', [APP, COMMANDS, PRODUCT, platform('commands/program')]),
    rule('demo-imports-no-http', '^src/demo/', '^src/platform/http/', [
      platform('http/openapi/demo-key'),
    ]),
    // Controller, service, repository, entity, in this order.
    rule('feature-controller', `${FEATURE}.+\\.controller\\.ts$`, '\\.repository\\.ts$'),
    rule(
      'feature-upwards',
      `${FEATURE}.+\\.(?:service|repository|entity)\\.ts$`,
      '\\.controller\\.ts$',
    ),
    rule('feature-repository', `${FEATURE}.+\\.(?:repository|entity)\\.ts$`, [
      '\\.(?:service|module)\\.ts$',
    ]),
    rule(
      'no-queries-in-controllers',
      `${FEATURE}.+\\.controller\\.ts$`,
      '(?:^|/)node_modules/(?:typeorm|pg|@nestjs/typeorm)/',
    ),
    // The files directly in src and in src/platform put the folders together.
    rule(
      'nothing-imports-the-top',
      '^src/(?:platform/[^/]+|(?!(?:platform|cli)/)[^/]+)/',
      '^src/(?:platform/)?[^/]+\\.ts$',
      [platform('index'), PRODUCT],
    ),
    // The embedded database starts while NestJS is loaded.
    {
      name: 'settings-load-no-framework',
      severity: 'error',
      from: { path: '^src/platform/config/' },
      to: {
        path: '(?:^|/)node_modules/(?:@nestjs|typeorm)/',
        dynamic: false,
        dependencyTypesNot: ['type-only'],
      },
    },
    // Commands would start half as fast.
    {
      name: 'commands-load-no-http',
      severity: 'error',
      from: { path: '^src/platform/commands/administration/commands\\.module' },
      to: { path: '(?:^|/)node_modules/(?:@nestjs/swagger|express)/', reachable: true },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolvable', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      to: {},
      from: {
        orphan: true,
        pathNot: ['^src/(?!platform/)', '^src/platform/http/openapi/browser/', '\\.d\\.ts$'],
      },
    },
    rule('nothing-outside-src', '^src/', '^(?:test|bench|rehearsals|examples|scripts|dist)/'),
    {
      name: 'no-development-dependency',
      severity: 'error',
      // Tests in src, as the Nest CLI generates them, use @nestjs/testing.
      from: { path: '^src/', pathNot: '\\.spec\\.ts$' },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: '(?:^|/)node_modules/@types/',
      },
    },
    {
      name: 'no-undeclared-dependency',
      severity: 'error',
      from: { path: '^src/' },
      to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.json' },
    // An `import type` is knowledge of another folder too.
    tsPreCompilationDeps: true,
    doNotFollow: { path: 'node_modules' },
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
