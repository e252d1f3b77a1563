// @ts-check
// NestJS consists of ES modules and some of its neighbours are CommonJS, which Jest cannot mix without flags of Node.js. So swc compiles
// tests, sources and the packages that are ES modules to CommonJS.

/** Packages that are ES modules only. Jest names the file of one that is missing here ("Unexpected token 'export'"). */
const ES_MODULES = ['@nestjs', 'is-network-error', 'p-retry'].join('|');

/** What the projects have in common. A file *.system.test.ts takes longer or needs other programs; *.nightly.test.ts, even more. */
const COMMON = {
  testEnvironment: '<rootDir>/test/harness/run/environment.mjs',
  roots: ['<rootDir>/test', '<rootDir>/src', '<rootDir>/examples'],
  globalSetup: '<rootDir>/test/harness/run/global-setup.mjs',
  globalTeardown: '<rootDir>/test/harness/run/global-teardown.mjs',
  transform: { '\\.(?:[jt]s|mjs)$': '@swc/jest' },
  // The last node_modules of the path counts: pnpm installs to node_modules/.pnpm/@nestjs+core@12.5.1/node_modules/@nestjs/core.
  transformIgnorePatterns: [`/node_modules/(?!(?:${ES_MODULES})/|.*/node_modules/)`],
  moduleNameMapper: {
    // Tests in the process of the service load the sources, so that it is the same platform.
    '^#platform$': '<rootDir>/src/platform/index.ts',
    // TypeScript's `./file.js` means `./file.ts`; a real .js file, as in packages, goes first.
    '^(\\.{1,2}/.+)\\.js$': ['$1.js', '$1.ts'],
  },
};

// Without <rootDir>: in a pattern, brackets in the path of the checkout would have a meaning.
/** @type {import('jest').Config} */
export default {
  projects: [
    // A *.spec.ts stands next to its source, where the Nest CLI generates it.
    {
      ...COMMON,
      displayName: 'quick',
      testMatch: ['**/test/**/!(*.system|*.nightly).test.ts', '**/src/**/*.spec.ts'],
    },
    { ...COMMON, displayName: 'system', testMatch: ['**/test/**/*.system.test.ts'] },
    { ...COMMON, displayName: 'nightly', testMatch: ['**/test/**/*.nightly.test.ts'] },
  ],
  // The machines of CI have two cores. More workers keep them busy, because many tests wait for a process, the database or a timer.
  maxWorkers: 4,
  maxConcurrency: 25,
  // Twice the limit of a wait (test/harness/run/until.ts).
  testTimeout: 120_000,
  // A busy machine needs more than the 500 ms that Jest waits by default. What would keep a worker from ending fails its test file.
  workerGracefulExitTimeout: 10_000,
};
