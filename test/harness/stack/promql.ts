import { parser } from '@prometheus-io/lezer-promql';

interface Query {
  metrics: string[];
  labels: string[];
  /** The labels of the result; null: the labels of the metric. */
  grouping: string[] | null;
  /** The number of syntax errors. */
  errors: number;
}

/** Returns the metrics and labels that an expression uses. */
export function parsePromql(expr: string): Query {
  // Grafana replaces this variable.
  const text = expr.replaceAll('$__rate_interval', '1m');
  const query: Query = { metrics: [], labels: [], grouping: null, errors: 0 };
  parser.parse(text).iterate({
    enter: ({ name, from, to, type, node }) => {
      const token = text.slice(from, to);
      if (type.isError) query.errors++;
      if (name === 'AggregateExpr') query.grouping ??= [];
      if (name === 'LabelName') query.labels.push(token);
      if (name === 'LabelName' && node.parent?.name === 'GroupingLabels') {
        query.grouping?.push(token);
      }
      if (name === 'Identifier' && node.parent?.name === 'VectorSelector') {
        query.metrics.push(token);
      }
    },
  });
  return query;
}
