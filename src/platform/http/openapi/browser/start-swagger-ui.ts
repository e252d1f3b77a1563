// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

declare const SwaggerUIBundle: (options: object) => {
  preauthorizeApiKey(scheme: string, key: string): void;
};
declare const matchMedia: (query: string) => { matches: boolean; onchange: () => void };
declare const document: {
  readonly baseURI: string;
  readonly documentElement: { classList: { toggle(name: string, isSet: boolean): void } };
  querySelector(selector: string): { dataset: { key?: string } };
  readonly styleSheets: readonly { insertRule(rule: string): void }[];
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
  '.swagger-ui .headers td { color: inherit !important }',
];
for (const rule of RULES) document.styleSheets[0]?.insertRule(rule);

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

const ownAddressFirst = () => ({
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
  plugins: [ownAddressFirst],
  dom_id: '#swagger-ui',
  deepLinking: true,
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
