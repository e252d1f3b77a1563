// @ts-check
import eslint from '@eslint/js';
import nestjs from '@darraghor/eslint-plugin-nestjs-typed';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';
import ownRules from './eslint.rules.js';

/** The decorators from #platform that validate a property and imply its type. */
const OWN_RULES = ['IsInt64', 'IsIntegerParameter', 'IsOneOf', 'IsText'];

export default defineConfig(
  globalIgnores(['dist/', '.dist-*/', 'node_modules/', 'coverage/', 'reports/', '.data/']),
  // The packages of these features are not installed, and the types of the client are generated.
  globalIgnores([
    'examples/packages/*/',
    'examples/client/{client,program}.mjs',
    'examples/client/api.d.ts',
  ]),
  eslint.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json'], tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    rules: {
      eqeqeq: 'error',
      'no-var': 'error',
      'prefer-const': 'error',
      'object-shorthand': 'error',
      '@typescript-eslint/no-floating-promises': 'error',
      // It would ask for the `!` that another rule forbids.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-misused-promises': 'error',
      '@typescript-eslint/no-explicit-any': 'error',
      '@typescript-eslint/prefer-readonly': 'error',
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/return-await': ['error', 'error-handling-correctness-only'],
      '@typescript-eslint/no-unused-vars': [
        'error',
        // The Nest CLI generates methods that do not use their parameters yet.
        { args: 'none', varsIgnorePattern: '^_', caughtErrors: 'none' },
      ],
      // Numbers in messages are what numbers are for.
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
      // An empty text counts as none in settings and parameters.
      '@typescript-eslint/prefer-nullish-coalescing': [
        'error',
        { ignorePrimitives: { string: true } },
      ],
      // The API counts code points.
      '@typescript-eslint/no-misused-spread': ['error', { allow: ['string'] }],
      // Object literals and proxies that fit are as good as instances: types are structural here.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      // Brackets mark a name that is not ours: a header, a variable, the inside of a library.
      '@typescript-eslint/dot-notation': 'off',
      // `() => list.push(x)` and `() => server.close()` say what they do.
      '@typescript-eslint/no-confusing-void-expression': 'off',
      // A Nest module is a class without members.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      // `import type` of a DTO or of an injected class would erase the metadata that Nest reads: each place is
      // decided by the author.
      '@typescript-eslint/consistent-type-imports': 'off',
      // The TypeScript compiler does this better.
      'no-undef': 'off',
    },
  },
  {
    // The Nest CLI generates classes and interfaces without members.
    files: ['src/**', 'examples/**'],
    ignores: ['src/platform/**'],
    rules: {
      '@typescript-eslint/no-extraneous-class': [
        'error',
        { allowEmpty: true, allowWithDecorator: true },
      ],
      '@typescript-eslint/no-empty-object-type': ['error', { allowInterfaces: 'always' }],
    },
  },
  {
    // It generates empty methods there, and parameters of any type.
    files: ['src/**/*.{filter,gateway,interceptor,middleware,pipe}.ts'],
    ignores: ['src/platform/**'],
    rules: {
      '@typescript-eslint/no-empty-function': ['error', { allow: ['methods'] }],
      '@typescript-eslint/no-explicit-any': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
    },
  },
  {
    // A DTO or a handler that NestJS would accept silently and that does less than it seems to.
    files: ['src/**', 'examples/**/*.ts', 'test/harness/features/**/*.ts'],
    // An entity uses rules to describe its columns.
    ignores: ['**/*.entity.ts'],
    plugins: { nestjs: /** @type {import('eslint').ESLint.Plugin} */ (nestjs.plugin) },
    rules: {
      'nestjs/all-properties-are-whitelisted': ['error', { additionalDecorators: OWN_RULES }],
      'nestjs/validated-non-primitive-property-needs-type-decorator': [
        'error',
        { additionalTypeDecorators: [...OWN_RULES, 'IsIn'] },
      ],
      'nestjs/validate-nested-of-array-should-set-each': 'error',
      'nestjs/param-decorator-name-matches-route-param': 'error',
    },
  },
  ownRules,
  {
    // Tests read responses as untyped JSON, and their assertions check its shape.
    files: [
      'test/**',
      'bench/**',
      'rehearsals/**',
      'examples/**/*.mjs',
      'scripts/**',
      '**/*.spec.ts',
      'eslint.config.js',
      'eslint.rules.js',
    ],
    rules: {
      '@typescript-eslint/no-unsafe-argument': 'off',
      '@typescript-eslint/no-unsafe-assignment': 'off',
      '@typescript-eslint/no-unsafe-call': 'off',
      '@typescript-eslint/no-unsafe-member-access': 'off',
      '@typescript-eslint/no-unsafe-return': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/only-throw-error': [
        'error',
        { allowThrowingAny: true, allowThrowingUnknown: true },
      ],
      '@typescript-eslint/restrict-plus-operands': ['error', { allowAny: true }],
    },
  },
  {
    // `expect(service.find).toHaveBeenCalled()`, and mocks without work.
    files: ['**/*.spec.ts'],
    rules: {
      '@typescript-eslint/no-empty-function': 'off',
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/unbound-method': 'off',
    },
  },
  {
    // `readonly` is a JSDoc tag there: more noise than it is worth.
    files: ['**/*.mjs'],
    rules: { '@typescript-eslint/prefer-readonly': 'off' },
  },
);
