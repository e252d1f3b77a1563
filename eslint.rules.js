// @ts-check
// What the code of this project may not do. ESLint runs these rules with those of eslint.config.js.
import { defineConfig } from 'eslint/config';

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
);
