import { parser } from '@prometheus-io/lezer-promql';

interface Query {
  metrics: string[];
  labels: string[];
  /** The labels that its result has; null: those of the metric. */
  grouping: string[] | null;
  /** How often it is not PromQL. */
  errors: number;
}

/** Returns what an expression asks for. */
export function parsePromql(expr: string): Query {
  // Grafana replaces its variable before Prometheus sees it.
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
