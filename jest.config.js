// @ts-check
// Nest is ESM and some of its neighbours are CommonJS, which Jest cannot mix without flags: tests, the
// build and ESM packages are compiled to CommonJS as they are loaded.

/** `npm test` leaves out the tests of `npm run test:system`. */
const isNpmTest = process.env.npm_lifecycle_event === 'test';

/** @type {import('jest').Config} */
export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...(isNpmTest ? ['/test/system/'] : [])],
  globalSetup: '<rootDir>/test/harness/run/global-setup.mjs',
  globalTeardown: '<rootDir>/test/harness/run/global-teardown.mjs',
  setupFilesAfterEnv: ['<rootDir>/test/harness/run/child-processes.ts'],
  resolver: '<rootDir>/scripts/jest-resolver.mjs',
  transform: {
    '\\.(?:[jt]s|mjs)$': '<rootDir>/scripts/typescript-transform.mjs',
  },
  // The transformer keeps CommonJS as it is.
  transformIgnorePatterns: [],
  moduleNameMapper: {
    // Tests in the process of the service load the sources, so that it is the same platform.
    '^#platform$': '<rootDir>/src/platform/index.ts',
    // TypeScript's `./file.js` means `./file.ts`; a real .js file, as in packages, goes first.
    '^(\\.{1,2}/.+)\\.js$': ['$1.js', '$1.ts'],
  },
  modulePathIgnorePatterns: ['<rootDir>/.data/', '<rootDir>/reports/'],
  maxWorkers: 2,
  maxConcurrency: 25,
  testTimeout: 30_000,
};
