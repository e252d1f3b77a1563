import { load } from 'js-yaml';
import { readProjectFile } from './compose-file.js';

export interface DataSource {
  type: string;
  uid: string;
}

interface Panel {
  title: string;
  description: string;
  datasource: DataSource;
  targets: { datasource: DataSource; expr: string; legendFormat: string }[];
}

interface Dashboard {
  templating: { list: { name: string; query: { query: string } }[] };
  panels: (Panel | { type: 'row'; title: string; targets?: undefined })[];
}

interface AlertRule {
  alert: string;
  expr: string;
  for?: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

const dashboard = JSON.parse(
  readProjectFile('deploy/grafana/dashboards/service.json'),
) as Dashboard;

/** The panels of the dashboard, without the headings of rows. */
export const panels = dashboard.panels.filter((panel) => panel.targets !== undefined);

/** The variables of the dashboard: their names, and the expressions that list their values. */
export const variables = dashboard.templating.list.map(({ name, query }) => ({
  name,
  expr: query.query,
}));

/** The rules of deploy/alerts.yml. */
export const alerts = (
  load(readProjectFile('deploy/alerts.yml')) as { groups: { rules: AlertRule[] }[] }
).groups.flatMap(({ rules }) => rules);
