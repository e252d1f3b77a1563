// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

declare const SwaggerUIBundle: (options: object) => {
  preauthorizeApiKey(scheme: string, key: string): void;
};
declare const matchMedia: (query: string) => { matches: boolean; onchange: () => void };
declare const document: {
  readonly baseURI: string;
  readonly documentElement: { classList: { toggle(name: string, isSet: boolean): void } };
  querySelector(selector: string): { dataset: { key: string; release: string } };
};
/** With the source text of numbers. Browsers from before 2025 have no `rawJSON`. */
declare const JSON: {
  parse: (text: string, reviver: typeof exact) => unknown;
  stringify: (value: unknown, replacer: null, indentation: number) => string;
  rawJSON?: (source: string) => unknown;
};

// Swagger UI has dark colors, and a button for them in a bar that this page omits.
const dark = matchMedia('(prefers-color-scheme: dark)');
dark.onchange = () => document.documentElement.classList.toggle('dark-mode', dark.matches);
dark.onchange();

const { key, release } = document.querySelector('#swagger-ui').dataset;

interface Description {
  readonly info: { readonly version: string };
  readonly servers: readonly { readonly url: string; readonly description?: string }[];
}

/**
 * Returns the description with the version of the service, and with the address of this page as the
 * first server: the browser may have loaded the page under another name than PUBLIC_URL, and would not
 * let it send requests there.
 */
function ofThisPage({ info, servers, ...description }: Description): Description {
  const path = servers[0]?.url.endsWith('/v1') ? 'v1' : '.';
  const url = new URL(path, document.baseURI).href.replace(/\/$/, '');
  const others = servers.filter((other) => other.url !== url);
  return {
    ...description,
    info: { ...info, version: `API ${info.version}, service ${release}` },
    servers: [{ url, description: 'This page' }, ...others],
  };
}

function exact(_key: string, value: unknown, { source }: { source: string }): unknown {
  return typeof value === 'number' && String(value) !== source ? JSON.rawJSON?.(source) : value;
}

/** Returns JSON with line breaks, in which 64-bit integers are exact. */
function readable(text: string): string {
  return JSON.rawJSON ? JSON.stringify(JSON.parse(text, exact), null, 2) : text;
}

interface ResponseBodyProps {
  readonly content: string;
  readonly contentType: string;
}
interface System {
  readonly React: { createElement: (type: unknown, props: object) => unknown };
}

/** Shows JSON as text, because Swagger UI would parse it and round 64-bit integers. */
const exactResponseBody =
  (ResponseBody: unknown, { React }: System) =>
  (props: ResponseBodyProps): unknown => {
    const isJson = props.contentType.startsWith('application/json');
    const asText = isJson && { content: readable(props.content), contentType: '' };
    return React.createElement(ResponseBody, { ...props, ...asText });
  };

const plugin = {
  wrapComponents: { responseBody: exactResponseBody },
  statePlugins: {
    spec: {
      wrapActions: {
        updateJsonSpec:
          (original: (description: Description) => unknown) => (description: Description) =>
            original(ofThisPage(description)),
      },
    },
  },
};

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
    if (key) page.preauthorizeApiKey('apiKey', key);
  },
});

export {};
