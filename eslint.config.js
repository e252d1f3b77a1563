// @ts-check
import eslint from '@eslint/js';
import nestjs from '@darraghor/eslint-plugin-nestjs-typed';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Settings are read, checked and described in one place. */
const ENVIRONMENT_MESSAGE =
  'Only src/platform/config may read environment variables. In a feature, use readSettings from #platform.';
const ENVIRONMENT = { object: 'process', property: 'env', message: ENVIRONMENT_MESSAGE };

/** The connections of a second one have no time limits, no bound, and other types of values. */
const SECOND_DATABASE = ['forRoot', 'forRootAsync'].map((property) => ({
  object: 'TypeOrmModule',
  property,
  message: 'The platform opens the database. Register entities with TypeOrmModule.forFeature().',
}));

/** The platform could be a package: the folders of the project are inputs. */
const FOLDERS_MESSAGE =
  'The files of the project come in as inputs: PRODUCT has its folder and the folder of the code.';
const WORKING_FOLDER = { object: 'process', property: 'cwd', message: FOLDERS_MESSAGE };

/** The decorators from #platform that validate a property and imply its type. */
const OWN_RULES = ['IsInt64', 'IsIntegerParameter', 'IsOneOf', 'IsText'];

/** @type {{ name: string, importNames?: string[], message: string }[]} */
const RESTRICTED_IMPORTS = [
  {
    name: '@nestjs/websockets',
    message:
      'Connections of a gateway pass no guard. Send events with @Sse(), or run a gateway as a service of its own.',
  },
  {
    name: '@nestjs/throttler',
    importNames: ['ThrottlerModule'],
    message:
      'It would count in the process. A ThrottlerGuard counts in the storage of the platform.',
  },
  {
    name: '@nestjs/schedule',
    importNames: ['ScheduleModule'],
    message: 'The platform imports it. A second one would run every job twice.',
  },
  {
    name: 'nestjs-pino',
    importNames: ['LoggerModule'],
    message: 'It would log each request again, with its API key. Use the Logger of NestJS.',
  },
  {
    name: '@nestjs/cache-manager',
    importNames: ['CacheInterceptor'],
    message:
      'It would send the response for one owner to others. Use CACHE_MANAGER with a key that contains the owner.',
  },
  {
    name: 'body-parser',
    message: 'BodyGuard reads JSON, after the guards that can reject the request.',
  },
];

// TypeORM's `query` returns the rows of a statement, but `[rows, count]` for UPDATE
// and DELETE, whatever type the caller expects.
const OWNERS = /^(?:DataSource|EntityManager|Repository|StatementRunner)$|QueryRunner$/;

const MESSAGE =
  'Use queryRows() of src/platform/database/sql.ts: query() returns [rows, count] for UPDATE and DELETE.';

/** @type {import('eslint').Rule.RuleModule} */
const typedSql = {
  create: (context) => ({
    /** @param {any} node */
    'MemberExpression[property.name="query"]': ({ property: node }) => {
      const { program, esTreeNodeToTSNodeMap } = context.sourceCode.parserServices;
      const checker = program.getTypeChecker();
      /** @type {import('typescript').Symbol | undefined} */
      const symbol = checker.getSymbolAtLocation(esTreeNodeToTSNodeMap.get(node));
      /** @param {any} declaration */
      const isOwned = ({ parent }) => OWNERS.test(parent.name?.text);
      if (symbol?.declarations?.some(isOwned)) context.report({ node, message: MESSAGE });
    },
  }),
};

const UNTYPED_MESSAGE =
  'Nothing validates a value of this type, which does not exist at run time. Use a DTO class, and import it without `type`.';

/**
 * Finds a body or a query whose type is an interface, an alias, or a class that `import type` erases.
 *
 * @type {import('eslint').Rule.RuleModule}
 */
const typedInput = {
  create: (context) => ({
    /** @param {any} node */
    'Identifier:has(Decorator CallExpression[callee.name=/^(Body|Query)$/][arguments.length=0]) > TSTypeAnnotation > TSTypeReference > Identifier':
      (node) => {
        /** @type {import('eslint').Scope.Scope | null} */
        let scope = context.sourceCode.getScope(node);
        while (scope && !scope.set.has(node.name)) scope = scope.upper;
        /** @type {any[]} */
        const definitions = scope?.set.get(node.name)?.defs ?? [];
        /** @param {any} definition */
        const isErased = ({ type, node: { importKind }, parent }) =>
          type === 'Type' || importKind === 'type' || parent?.importKind === 'type';
        if (definitions.some(isErased)) context.report({ node, message: UNTYPED_MESSAGE });
      },
  }),
};

/** The suffix of the file of a step of a request, by the interface that its class implements. */
const SUFFIXES = new Map([
  ['CanActivate', 'guard'],
  ['ExceptionFilter', 'filter'],
  ['NestInterceptor', 'interceptor'],
  ['NestMiddleware', 'middleware'],
  ['PipeTransform', 'pipe'],
]);

/** @type {import('eslint').Rule.RuleModule} */
const stepNames = {
  create: (context) => ({
    /** @param {any} node */
    TSClassImplements: (node) => {
      const suffix = SUFFIXES.get(node.expression.name);
      if (suffix === undefined || context.filename.endsWith(`.${suffix}.ts`)) return;
      context.report({ node, message: `The file of this class is named *.${suffix}.ts.` });
    },
  }),
};

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
    files: ['src/**', 'examples/**/*.ts'],
    ignores: ['src/platform/config/**'],
    rules: {
      'no-restricted-properties': ['error', ENVIRONMENT, WORKING_FOLDER, ...SECOND_DATABASE],
      'no-restricted-syntax': [
        'error',
        {
          selector: 'ImportDeclaration[source.value=/^(node:)?process$/]',
          message: `The global process is enough. ${ENVIRONMENT_MESSAGE}`,
        },
        {
          selector: 'VariableDeclarator[init.name="process"] Property[key.name="env"]',
          message: ENVIRONMENT_MESSAGE,
        },
        {
          selector: 'CallExpression:has(MetaProperty) > Literal[value=/^\\.\\.\\/\\.\\./]',
          message: FOLDERS_MESSAGE,
        },
        {
          selector: 'NewExpression:has(MetaProperty) > Literal[value=/^\\.\\.\\/\\.\\./]',
          message: FOLDERS_MESSAGE,
        },
        {
          selector:
            'PropertyDefinition:has(TSUnionType > TSNullKeyword):not(:has(Decorator CallExpression[callee.name=/^(IsInt64|IsOneOf|IsText)$/])) > Decorator > CallExpression[callee.name=/^ApiProperty(Optional)?$/] > ObjectExpression:not(:has(> SpreadElement, > Property[key.name=/^(type|enum|oneOf|anyOf|allOf)$/]))',
          message:
            'The description would have the type `object`, because the property can be null. Set `type` or `enum`.',
        },
        {
          selector:
            'CallExpression[callee.name=/^(Throttle|SkipThrottle)$/] > ObjectExpression > Property:not([key.name="default"], [key.value="default"])',
          message: 'The platform has one throttler, `default`. Another name has no effect.',
        },
        {
          selector:
            'CallExpression[callee.name="Throttle"] Property Property:not([key.name=/^(limit|ttl)$/], [key.value=/^(limit|ttl)$/])',
          message: 'The platform ignores this option. It has `limit` and `ttl`.',
        },
        {
          selector:
            'PropertyDefinition:has(Decorator Literal[value=/^(bigint|int8)$/]):not(:has(Property[key.name="transformer"])):has(TSTypeAnnotation :matches(TSStringKeyword, TSNumberKeyword))',
          message: 'An int8 column is a bigint. Declare the property as bigint.',
        },
        {
          selector:
            'CallExpression[callee.name="PrimaryGeneratedColumn"]:has(Literal[value=/^(bigint|int8)$/]):not(:has(Literal[value="identity"]))',
          message:
            "save() returns this id as text. Use @PrimaryGeneratedColumn('identity', { type: 'bigint' }).",
        },
        {
          selector:
            'PropertyDefinition:has(Decorator Literal[value="date"]):has(TSTypeReference[typeName.name="Date"])',
          message: 'A date column is text. Declare the property as string.',
        },
        {
          selector:
            'PropertyDefinition:has(Decorator CallExpression[callee.name=/^(Column|CreateDateColumn|UpdateDateColumn|DeleteDateColumn)$/]):not(:has(Decorator Literal[value=/^(date|timestamptz|timestamp with time zone)$/])):not(:has(Property[key.name="transformer"])):not(:has(TSTypeLiteral)):has(TSTypeReference[typeName.name="Date"])',
          message:
            "Its type would be timestamp, which depends on the time zone of the process. Declare the type 'timestamptz'.",
        },
        {
          selector:
            'Identifier:has(Decorator CallExpression[callee.name=/^(Body|Query)$/][arguments.length=0]) > TSTypeAnnotation > :matches(TSArrayType, TSTypeLiteral, TSTypeReference[typeName.name=/^(Array|Omit|Partial|Pick|Record)$/])',
          message: 'Nothing validates a value of this type. Use a DTO class.',
        },
        {
          selector:
            'Identifier:has(Decorator CallExpression[callee.name=/^(Param|Query)$/][arguments.length=1]) > TSTypeAnnotation > TSBigIntKeyword',
          message: 'The value is text. Add a pipe, such as new Int64Pipe(…).',
        },
      ],
    },
  },
  {
    files: ['src/platform/database/database.module.ts'],
    rules: { 'no-restricted-properties': ['error', ENVIRONMENT, WORKING_FOLDER] },
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
  {
    // Packages that do not fit, and what to use instead.
    files: ['src/**', 'examples/**/*.ts'],
    ignores: ['src/platform/platform.module.ts'],
    rules: {
      'no-restricted-imports': ['error', { paths: RESTRICTED_IMPORTS }],
    },
  },
  {
    files: ['src/**', 'examples/**/*.ts'],
    ignores: ['src/platform/database/**', '**/[0-9]*-*.ts'],
    plugins: { database: { rules: { 'typed-sql': typedSql } } },
    rules: { 'database/typed-sql': 'error' },
  },
  {
    files: ['src/**', 'examples/**/*.ts', 'test/harness/features/**/*.ts'],
    plugins: { input: { rules: { typed: typedInput } } },
    rules: { 'input/typed': 'error' },
  },
  {
    files: ['src/**'],
    plugins: { pipeline: { rules: { 'step-names': stepNames } } },
    rules: { 'pipeline/step-names': 'error' },
  },
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
