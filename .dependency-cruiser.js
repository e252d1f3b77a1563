// @ts-check
// Which folder of src may import which. A new folder is a feature, and held to a feature's rules, without being named here.

/** Folders that hold for every feature and are none themselves. */
const FOUNDATIONS = [
  'errors',
  'config',
  'logging',
  'database',
  'http',
  'auth',
  'rate-limit',
  'idempotency',
  'health',
  'metrics',
  'cli',
  'demo',
];

/** @param {string} name */
const folder = (name) => `^src/${name}/`;

/** A feature of one's own, or another: captured as $1 where a rule compares the two. */
const FEATURE = `^src/(?!(?:${FOUNDATIONS.join('|')})/)([^/]+)/`;

/** Who the caller is: the Authenticator tells, the other two are what it tells. */
const CALLER = '^src/auth/(?:authenticator|caller|known-key)\\.ts$';
const PUBLIC = '^src/auth/public\\.decorator\\.ts$';
/** How guards read decorators, and what is being worked on: these know no guard. */
const FOR_GUARDS = '^src/http/(?:per-route|http-context)\\.ts$';

/**
 * @param {string} name a folder of src
 * @param {string[]} allowed what it may import besides itself
 * @param {string} comment why
 * @returns {import('dependency-cruiser').IForbiddenRuleType}
 */
const boundary = (name, allowed, comment) => ({
  name: `${name}-imports`,
  comment,
  severity: 'error',
  from: { path: folder(name) },
  to: { path: '^src/', pathNot: [folder(name), ...allowed] },
});

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    boundary('errors', [], 'Every folder throws these errors: they can know none of the folders.'),
    boundary('config', [], 'Settings are read before anything else exists.'),
    boundary(
      'logging',
      [folder('config')],
      'Any folder may log: the logger can know none of them.',
    ),
    boundary(
      'database',
      [folder('config'), folder('errors')],
      'The connection and the schema know nothing of what is stored; features know the database.',
    ),
    boundary(
      'http',
      [folder('config'), folder('errors'), folder('logging')],
      'How answers look holds for every route, so it cannot depend on one.',
    ),
    boundary(
      'auth',
      [folder('config'), folder('database'), folder('errors'), FOR_GUARDS],
      'Who is calling does not depend on what is called, nor on how much of it is allowed.',
    ),
    boundary(
      'rate-limit',
      [folder('config'), folder('errors'), CALLER, PUBLIC, FOR_GUARDS],
      'Limits count callers: they need to know who it is and whether a route is public, not how keys are kept.',
    ),
    boundary(
      'idempotency',
      [
        folder('config'),
        folder('database'),
        folder('errors'),
        FOR_GUARDS,
        // The answer as text, and the mark in the interface description.
        '^src/http/json-(?:answer|text)\\.ts$',
        '^src/http/.+\\.decorator\\.ts$',
      ],
      'Any feature may remember a first answer: this cannot know what the answer is about.',
    ),
    ...['health', 'metrics'].map((name) =>
      boundary(
        name,
        ['config', 'database', 'errors', 'http', 'auth', 'rate-limit', 'idempotency'].map(folder),
        'They observe what holds for every feature: a new feature is observed without being named here.',
      ),
    ),
    boundary(
      'cli',
      [
        folder('config'),
        folder('database'),
        folder('auth'),
        folder('rate-limit'),
        '^src/[^/]+/[^/]+\\.(?:module|service|repository)\\.ts$',
        '^src/http/json-text\\.ts$',
      ],
      'A command is another way to call a service: no HTTP, no queries of its own.',
    ),
    boundary(
      'demo',
      ['config', 'database', 'errors', 'auth', 'pets'].map(folder),
      'Sample data is added the way an operator would add it, and nothing depends on it.',
    ),
    {
      name: 'feature-imports',
      comment:
        'A feature needs no knowledge of guards, filters or limits: those hold for every route. Of another feature it sees the module and the service.',
      severity: 'error',
      from: { path: FEATURE },
      to: {
        path: '^src/',
        pathNot: [
          '^src/$1/',
          folder('errors'),
          folder('idempotency'),
          // What decorates a controller or a DTO, and what a handler may return.
          '^src/http/(?:validation|dto)/',
          '^src/http/(?:deprecation|json-answer|page)\\.ts$',
          '^src/http/.+\\.(?:decorator|dto)\\.ts$',
          '^src/auth/(?:caller|known-key|caller-key\\.decorator|public\\.decorator)\\.ts$',
          '^src/database/(?:database-errors|pooled-statements|standbys)\\.ts$',
          `${FEATURE}[^/]+\\.(?:module|service)\\.ts$`,
        ],
      },
    },
    {
      name: 'feature-layers-controller',
      comment:
        'Controller, service, repository, entity, in this order: a controller calls its service.',
      severity: 'error',
      from: { path: `${FEATURE}.+\\.controller\\.ts$` },
      to: { path: '\\.repository\\.ts$' },
    },
    {
      name: 'feature-layers-upwards',
      comment: 'Controller, service, repository, entity, in this order: nothing calls upwards.',
      severity: 'error',
      from: { path: `${FEATURE}.+\\.(?:service|repository|entity)\\.ts$` },
      to: { path: '\\.controller\\.ts$' },
    },
    {
      name: 'feature-layers-repository',
      comment: 'Controller, service, repository, entity, in this order: nothing calls upwards.',
      severity: 'error',
      from: { path: `${FEATURE}.+\\.(?:repository|entity)\\.ts$` },
      to: { path: '\\.(?:service|module)\\.ts$' },
    },
    {
      name: 'only-repositories-query',
      comment: 'Only a repository runs queries; a transaction may be passed on as a type.',
      severity: 'error',
      from: { path: `${FEATURE}.+\\.(?:controller|service)\\.ts$` },
      to: {
        path: '^node_modules/(?:typeorm|pg|@nestjs/typeorm)/',
        dependencyTypesNot: ['type-only'],
      },
    },
    {
      name: 'nothing-imports-the-top',
      comment:
        'The files directly in src put the folders together: a folder that imports one of them closes a circle.',
      severity: 'error',
      from: { path: '^src/[^/]+/' },
      to: { path: '^src/[^/]+\\.ts$' },
    },
    {
      name: 'no-cycles',
      comment:
        'Two files that need each other are one file, or three; and decorators read their types too early.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-orphans',
      comment: 'A file that nothing imports and that is not started by itself is left over.',
      severity: 'error',
      from: {
        orphan: true,
        pathNot: [
          '^src/main\\.ts$',
          '^src/cli/main\\.ts$',
          // Loaded by the page of Swagger UI.
          '^src/http/openapi/browser/',
          '\\.d\\.ts$',
        ],
      },
      to: {},
    },
    {
      name: 'no-unresolvable',
      comment: 'An import that leads nowhere would also slip past every other rule.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true },
    },
    {
      name: 'nothing-outside-src',
      comment: 'Tests, benchmarks, examples and scripts are not part of what is delivered.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(?:test|bench|examples|scripts|dist)/' },
    },
    {
      name: 'no-development-dependency',
      comment: 'A production installation does not have it. Types alone are gone by then.',
      severity: 'error',
      from: { path: '^src/' },
      to: {
        dependencyTypes: ['npm-dev'],
        dependencyTypesNot: ['type-only'],
        pathNot: '^node_modules/@types/',
      },
    },
    {
      name: 'no-undeclared-dependency',
      comment: 'A package that package.json does not name is there by accident.',
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
