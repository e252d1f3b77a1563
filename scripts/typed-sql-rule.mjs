// @ts-check
// An ESLint rule. TypeORM's `query` returns the rows of a statement, but `[rows, count]` for UPDATE
// and DELETE, whatever type the caller expects.

const OWNERS = /^(?:DataSource|EntityManager|Repository|StatementRunner)$|QueryRunner$/;

const MESSAGE =
  'Use queryRows() of src/platform/database/sql.ts: query() returns [rows, count] for UPDATE and DELETE.';

/** @type {import('eslint').Rule.RuleModule} */
export const typedSql = {
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
