// @ts-check
// Which folder of src may import which.

const PLATFORM = '^src/platform/';

/** @param {string} name */
const folder = (name) => `${PLATFORM}${name}/`;

/** Any feature. A rule that compares two features captures the name as $1. */
const FEATURE = '^src/(?!(?:platform|cli|demo)/)([^/]+)/';

/** Which client calls: the Authenticator identifies it, the others describe it. */
const CALLER = `${folder('access')}(?:authenticator|caller|cached-key)\\.ts$`;
/** The caller of a request, as types. */
const CALLER_STATE = `${folder('access')}(?:caller|cached-key)\\.ts$`;
const PUBLIC = `${folder('access')}public\\.decorator\\.ts$`;
/** How guards read metadata and the current request. */
const REQUEST = folder('http/request');
/** Folders of http that every request passes through. */
const PIPELINE = ['request', 'body', 'validation', 'routing', 'response'].map((name) =>
  folder(`http/${name}`),
);

/**
 * @param {string} name a folder of src/platform
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
    boundary('errors', [], 'Every folder throws these errors, so they depend on no folder.'),
    boundary('config', [], 'Settings are read before anything else exists.'),
    boundary(
      'logging',
      [folder('config')],
      'Every folder may log, so the logger depends on no folder but the settings.',
    ),
    boundary(
      'tracing',
      [folder('config'), folder('logging')],
      'Every folder may create spans, so they depend on no folder but the settings and the log.',
    ),
    boundary(
      'database/embedded',
      [],
      'The embedded server knows nothing of the service: it could be a package of its own.',
    ),
    boundary(
      'database',
      ['config', 'errors', 'logging', 'tracing'].map(folder),
      'The connection and the schema do not depend on the features that use them.',
    ),
    boundary(
      'jobs',
      [folder('logging')],
      'Every folder may run background jobs, so they depend on no folder but the log.',
    ),
    boundary(
      'http/request',
      [...['config', 'errors', 'logging'].map(folder), CALLER_STATE],
      'The context of a request is what all other steps share.',
    ),
    boundary(
      'http/body',
      ['config', 'errors', 'http/request', 'http/response'].map(folder),
      'The response deadline starts when the body has arrived.',
    ),
    ...['validation', 'routing', 'response'].map((name) =>
      boundary(
        `http/${name}`,
        ['config', 'errors', 'http/request'].map(folder),
        'The steps of the pipeline do not depend on each other.',
      ),
    ),
    boundary(
      'http/paging',
      ['config', 'errors', 'http/request', 'http/validation', 'http/response'].map(folder),
      'Lists are validated queries and pages: they know no feature.',
    ),
    boundary(
      'http/server',
      ['config', 'errors', 'logging'].map(folder).concat(PIPELINE),
      'The server runs the pipeline and knows no feature.',
    ),
    boundary(
      'http/openapi',
      ['config', 'errors', 'logging', 'http/paging'].map(folder).concat(PIPELINE),
      'The interface description is made from the pipeline and the routes, for any feature.',
    ),
    boundary(
      'access',
      [...['config', 'database', 'errors', 'jobs', 'logging'].map(folder), REQUEST],
      'Who calls does not depend on what is called, nor on the limits.',
    ),
    boundary(
      'rate-limit',
      [folder('config'), folder('errors'), folder('tracing'), CALLER, PUBLIC, REQUEST],
      'Limits count callers: they know the caller and whether a route is public, not how keys are stored.',
    ),
    boundary(
      'idempotency',
      [
        folder('config'),
        folder('database'),
        folder('errors'),
        folder('jobs'),
        REQUEST,
        // The response as text, and the mark in the interface description.
        '^src/platform/http/response/(?:handler-result|intercepted-result|json-text)\\.ts$',
        folder('http/openapi/decorators'),
      ],
      'Every feature may store a first response, so this depends on no feature.',
    ),
    boundary(
      'events',
      ['config', 'database', 'errors', 'jobs', 'tracing'].map(folder),
      'Every feature may publish events, so this depends on no feature.',
    ),
    ...['health', 'metrics'].map((name) =>
      boundary(
        name,
        [
          'config',
          'database',
          'errors',
          'http',
          'access',
          'rate-limit',
          'idempotency',
          'events',
          'health',
          'tracing',
        ].map(folder),
        'They observe what every feature shares, so a new feature is observed without an edit here.',
      ),
    ),
    {
      name: 'cli-imports',
      comment: 'A command is another way to call a service: no HTTP, no queries of its own.',
      severity: 'error',
      from: { path: '^src/cli/' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/cli/',
          ...['config', 'database', 'access', 'rate-limit'].map(folder),
          `${PLATFORM}[^/]+/[^/]+\\.(?:module|service|repository)\\.ts$`,
          '^src/[^/]+/[^/]+\\.(?:module|service|repository)\\.ts$',
          `${folder('http/response')}json-text\\.ts$`,
        ],
      },
    },
    {
      name: 'demo-imports',
      comment: 'Sample data is added as an operator would add it.',
      severity: 'error',
      from: { path: '^src/demo/' },
      to: {
        path: '^src/',
        pathNot: ['^src/(?:demo|pets)/', ...['config', 'database', 'errors', 'access'].map(folder)],
      },
    },
    {
      name: 'platform-imports-no-feature',
      comment:
        'main.ts hands the features to the platform, so that a new feature changes nothing in it.',
      severity: 'error',
      from: { path: PLATFORM },
      to: { path: '^src/(?!platform/)' },
    },
    {
      name: 'feature-imports',
      comment:
        'A feature needs no knowledge of guards, filters or limits: those hold for every route. Of another feature it sees the module, the services and the errors.',
      severity: 'error',
      from: { path: FEATURE },
      to: {
        path: '^src/',
        pathNot: [
          '^src/$1/',
          folder('errors'),
          folder('idempotency'),
          folder('events'),
          folder('jobs'),
          // What decorates a controller or a DTO, and what a handler may return.
          folder('http/validation'),
          folder('http/paging'),
          folder('http/openapi/decorators'),
          '^src/platform/http/routing/(?:deprecation|use-middleware)\\.ts$',
          '^src/platform/http/request/response-deadline\\.ts$',
          '^src/platform/http/response/handler-result\\.ts$',
          '^src/platform/access/(?:caller|cached-key|caller-key\\.decorator|public\\.decorator)\\.ts$',
          '^src/platform/database/(?:database-errors|sql|transactions)\\.ts$',
          '^src/platform/database/pipelining/pipelined-statements\\.ts$',
          '^src/platform/config/(?:clock|settings)\\.ts$',
          // The constants of a constraint, which the entity and the DTOs repeat.
          '^src/platform/database/migrations/\\d+-[^/]+\\.ts$',
          `${FEATURE}[^/]+\\.(?:module|service|errors)\\.ts$`,
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
        'The files directly in src and in src/platform put the folders together: a folder that imports one of them closes a circle.',
      severity: 'error',
      from: { path: '^src/(?:platform/[^/]+|(?!platform/)[^/]+)/' },
      to: { path: '^src/(?:platform/)?[^/]+\\.ts$' },
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
      comment: 'No file imports this one, and it is no entry point: delete it.',
      severity: 'error',
      from: {
        orphan: true,
        pathNot: [
          // The entry points, and what the Nest CLI generates and nothing uses yet.
          '^src/(?!platform/)',
          // Loaded by the page of Swagger UI.
          '^src/platform/http/openapi/browser/',
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
      comment:
        'Tests, benchmarks, rehearsals, examples and scripts are not part of what is delivered.',
      severity: 'error',
      from: { path: '^src/' },
      to: { path: '^(?:test|bench|rehearsals|examples|scripts|dist)/' },
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
