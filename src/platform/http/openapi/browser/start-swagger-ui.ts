// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

declare const SwaggerUIBundle: (options: object) => {
  preauthorizeApiKey(scheme: string, key: string): void;
};
declare const matchMedia: (query: string) => { matches: boolean; onchange: () => void };
declare const document: {
  readonly baseURI: string;
  readonly documentElement: { classList: { toggle(name: string, isSet: boolean): void } };
  querySelector(selector: string): { dataset: { key?: string } };
  readonly styleSheets: Iterable<{
    readonly cssRules: { readonly length: number };
    insertRule(rule: string, index: number): void;
  }>;
};
/** With the source text of numbers. Browsers from before 2025 have no `rawJSON`. */
declare const JSON: {
  parse: (text: string, reviver?: typeof exact) => unknown;
  rawJSON?: (source: string) => unknown;
};

// Swagger UI parses and formats responses. Identifiers are 64-bit integers, which it would round.
const { parse, rawJSON } = JSON;
JSON.parse = (text, reviver = exact) => parse(text, reviver);
function exact(_key: string, value: unknown, { source }: { source: string }): unknown {
  return rawJSON && typeof value === 'number' && String(value) !== source ? rawJSON(source) : value;
}

// Swagger UI has dark colors, and a button for them in a bar that this page omits.
const dark = matchMedia('(prefers-color-scheme: dark)');
dark.onchange = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.onchange();

const RULES = [
  'html.dark-mode body { background: none }',
  // The Links column is always empty. Without it, the page fits the screen of a phone.
  '.swagger-ui .response-col_links { display: none }',
  '.swagger-ui .info { margin: 20px 0 !important }',
  // Swagger UI writes these in light gray on light gray, or in dark gray on dark gray.
  '.swagger-ui .opblock-deprecated { opacity: 1 !important }',
  '.opblock-deprecated .opblock-summary-method { background: #666 !important; color: #fff !important }',
  // The page of an operation is short.
  '.swagger-ui .response-summary { margin: 0 20px 16px; width: calc(100% - 40px); font-size: 13px }',
  '.swagger-ui .response-summary caption { text-align: left; font-weight: 700; font-size: 14px }',
  '.swagger-ui .response-summary th { padding-right: 20px !important }',
  '.swagger-ui .response-summary tbody tr :is(td, td:first-of-type) { padding: 3px 20px 0 0; width: auto; min-width: 0; max-width: none }',
  '.swagger-ui .response-summary :is(p, code) { margin: 0; padding: 0; font-size: 13px; word-break: normal; overflow-wrap: break-word }',
  '.swagger-ui .response-controls:not(:has(option + option)) { display: none }',
  '.swagger-ui .responses-inner { padding: 10px 20px }',
  '.swagger-ui .parameters-container .parameters tr td { padding: 4px 10px 4px 0 }',
  '.swagger-ui .parameters .parameters-col_name { width: 15em }',
  '.swagger-ui :is(.parameter__name, .parameter__type) { display: inline; padding: 0 6px 0 0 }',
  '.swagger-ui .parameters-col_description p { margin: 0 0 2px }',
  '.swagger-ui .opblock-description-wrapper { padding: 10px 20px }',
  '.swagger-ui .opblock-description-wrapper p { margin: 0 }',
  '.swagger-ui :is(.execute-wrapper, .table-container) { padding: 10px 20px }',
  '.swagger-ui .scheme-container { padding: 15px 0 }',
  '.swagger-ui .opblock table thead tr :is(td, th) { padding: 4px 0 }',
  '.swagger-ui section.models { margin: 10px 0 }',
];
const [sheet] = document.styleSheets;
// After those of Swagger UI.
for (const rule of RULES) sheet?.insertRule(rule, sheet.cssRules.length);

interface Server {
  readonly url: string;
  readonly description?: string;
}
interface Description {
  readonly servers: readonly Server[];
}

/**
 * Returns the description with the address of this page as the first server. The browser may have loaded
 * the page under another name than PUBLIC_URL, and would not let it send requests there.
 */
function withOwnAddress(description: Description): Description {
  const { servers } = description;
  const path = servers[0]?.url.endsWith('/v1') ? 'v1' : '.';
  const url = new URL(path, document.baseURI).href.replace(/\/$/, '');
  const others = servers.filter((other) => other.url !== url);
  return { ...description, servers: [{ url, description: 'This page' }, ...others] };
}

interface ServiceError {
  readonly status: number;
  readonly code: string;
  readonly message: string;
}
interface DescribedResponse {
  readonly headers?: Record<string, { description?: string; schema?: { type?: string } }>;
  readonly content?: Record<string, { examples?: Record<string, { value: ServiceError }> }>;
}
/** A collection of Immutable.js. */
interface Collection<Value> {
  filter(predicate: (value: Value, name: string) => boolean): Collection<Value>;
  map(change: (value: Value) => Value): Collection<Value>;
  toJS(): unknown;
}
interface ResponsesProps {
  readonly responses: Collection<{ delete(name: string): never }>;
  readonly getComponent: (name: string, isContainer: boolean) => unknown;
}
interface React {
  createElement: (type: unknown, props: object | null, ...children: unknown[]) => unknown;
}

const isError = (status: string): boolean => status === 'default' || Number(status) >= 400;

/** Returns the examples of an error response, one for each error. */
const errorsOf = ({ content = {} }: DescribedResponse): ServiceError[] =>
  Object.values(content['application/json']?.examples ?? {}).map(({ value }) => value);

/** Returns name, description, type and statuses of each header of the responses. */
function headersOf(responses: Record<string, DescribedResponse>): string[][] {
  const rows = new Map<string, { cells: string[]; statuses: Set<string> }>();
  const all = new Set<string>();
  for (const [status, response] of Object.entries(responses)) {
    const ofErrors = errorsOf(response).map((error) => String(error.status));
    const statuses = status === 'default' ? ofErrors : [status];
    for (const each of statuses) all.add(each);
    for (const [name, { description = '', schema }] of Object.entries(response.headers ?? {})) {
      const cells = [name, description, schema?.type ?? ''];
      const known = rows.get(cells.join()) ?? { cells, statuses: new Set() };
      for (const each of statuses) known.statuses.add(each);
      rows.set(cells.join(), known);
    }
  }
  return [...rows.values()].map(({ cells, statuses }) => [
    ...cells,
    statuses.size === all.size ? 'all' : [...statuses].join(', '),
  ]);
}

/**
 * Shows the errors of an operation in one table, and the headers of all of its responses in another.
 * Swagger UI would show the headers and an example with each error.
 */
const compactResponses =
  (Responses: unknown, { React: { createElement } }: { React: React }) =>
  ({ responses, ...props }: ResponsesProps): unknown => {
    const Markdown = props.getComponent('Markdown', true);
    const table = (title: string, columns: string[], rows: string[][]): unknown => {
      const head = columns.map((column) => createElement('th', null, column));
      const body = rows.map((cells) => {
        const texts = cells.map((source) => createElement(Markdown, { source }));
        return createElement('tr', null, ...texts.map((text) => createElement('td', null, text)));
      });
      return createElement(
        'table',
        { className: 'response-summary' },
        createElement('caption', null, title),
        createElement('thead', null, createElement('tr', null, ...head)),
        createElement('tbody', null, ...body),
      );
    };
    const described = responses.toJS() as Record<string, DescribedResponse>;
    const errors = Object.entries(described)
      .filter(([status]) => isError(status))
      .flatMap(([, response]) => errorsOf(response))
      .sort((a, b) => a.status - b.status)
      .map(({ status, code, message }) => [String(status), code, message]);
    const results = responses
      .filter((_response, status) => !isError(status))
      .map((response) => response.delete('headers'));
    return createElement(
      'div',
      null,
      createElement(Responses, { ...props, responses: results }),
      table('Errors', ['Status', 'Code', 'When'], errors),
      table('Headers', ['Name', 'Description', 'Type', 'Statuses'], headersOf(described)),
    );
  };

const plugin = () => ({
  wrapComponents: { responses: compactResponses },
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec:
          (original: (description: Description) => unknown) => (description: Description) =>
            original(withOwnAddress(description)),
      },
    },
  },
});

const page = SwaggerUIBundle({
  url: 'openapi.json',
  plugins: [plugin],
  dom_id: '#swagger-ui',
  deepLinking: true,
  defaultModelsExpandDepth: 0,
  persistAuthorization: true,
  tryItOutEnabled: true,
  // The default loads a badge from another host.
  validatorUrl: null,
  onComplete: () => {
    const { key } = document.querySelector('#swagger-ui').dataset;
    if (key) page.preauthorizeApiKey('apiKey', key);
  },
});

export {};
