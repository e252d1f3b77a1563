// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

declare const SwaggerUIBundle: (options: object) => {
  preauthorizeApiKey(scheme: string, key: string): void;
};
interface Element {
  content: string;
  closest(selector: string): Element | null;
  getAttribute(name: string): string | null;
  setAttribute(name: string, value: string): void;
}
declare const document: {
  querySelector(selector: string): Element | null;
  querySelectorAll(selector: string): Iterable<Element>;
};
declare const MutationObserver: new (listener: () => void) => {
  observe(target: unknown, changes: object): void;
};
declare const location: { href: string };

type Reviver = (this: unknown, key: string, value: unknown, at: { source: string }) => unknown;
/** With the source text of numbers. Browsers from before 2025 have no `rawJSON`. */
declare const JSON: {
  parse: (text: string, reviver?: Reviver) => unknown;
  stringify: (value: unknown) => string;
  rawJSON?: (source: string) => unknown;
};

/** A schema, a parameter, or another part of the interface description. */
type Part = Record<string, unknown> & { schema?: { example?: unknown } };

// Swagger UI parses and formats responses. Identifiers are 64-bit integers, which it would round.
const { parse, rawJSON } = JSON;
const exact: Reviver = (_key, value, { source }) =>
  rawJSON && typeof value === 'number' && String(value) !== source ? rawJSON(source) : value;
JSON.parse = (text, reviver = exact) => parse(text, reviver);

/** What the elements of Swagger UI do not tell a screen reader. */
const ATTRIBUTES: [
  selector: string,
  name: string,
  value: string | ((element: Element) => string),
][] = [
  ['.information-container, .scheme-container', 'role', 'region'],
  ['.information-container', 'aria-label', 'Description'],
  ['.scheme-container', 'aria-label', 'Server and authorization'],
  ['#servers', 'aria-label', 'Server'],
  ['.modal-ux', 'role', 'dialog'],
  ['.modal-ux', 'aria-label', 'Available authorizations'],
  ['.close-modal', 'aria-label', 'Close'],
  ['[aria-label="Apply credentials"]', 'aria-label', 'Authorize'],
  ['[aria-label="Remove authorization"]', 'aria-label', 'Logout'],
  ['.auth-container h6', 'aria-level', '5'],
  ['[data-param-name] select', 'aria-label', nameOfParameter],
  ['.body-param__text', 'aria-label', 'Request body'],
  ['.examples-select-element', 'aria-label', 'Example'],
  // Swagger UI makes each table a landmark without a name.
  ['.responses-table', 'role', 'table'],
  ['.info .description, .headers-wrapper, .curl, .live-responses-table pre', 'tabindex', '0'],
];

function nameOfParameter(element: Element): string {
  return element.closest('[data-param-name]')?.getAttribute('data-param-name') ?? '';
}

new MutationObserver(() => {
  for (const [selector, name, value] of ATTRIBUTES)
    for (const element of document.querySelectorAll(selector)) {
      const text = typeof value === 'string' ? value : value(element);
      if (element.getAttribute(name) !== text) element.setAttribute(name, text);
    }
}).observe(document.querySelector('#swagger-ui'), {
  subtree: true,
  childList: true,
  attributeFilter: ['aria-label'],
});

const page = SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#swagger-ui',
  plugins: [
    {
      statePlugins: { spec: { wrapActions: { updateJsonSpec } } },
      // The path of an operation is a link inside of a button, which has the same effect.
      components: { DeepLink: ({ text }: { text: string }) => text },
    },
  ],
  syntaxHighlight: { theme: 'tomorrow-night' },
  deepLinking: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  requestInterceptor: withoutRepeatedScheme,
  onComplete: () => {
    const demoKey = document.querySelector('meta[name="demo-api-key"]')?.content;
    if (demoKey !== undefined) page.preauthorizeApiKey('apiKey', demoKey);
  },
  // The default loads a badge from another host.
  validatorUrl: null,
});

/** Accepts an API key that was pasted with its scheme: Swagger UI adds `Bearer` once more. */
function withoutRepeatedScheme(request: { headers: { Authorization?: string } }): object {
  const authorization = request.headers.Authorization?.replace(
    /^(?:Bearer\s+)+/i,
    'Bearer ',
  ).trim();
  if (authorization !== undefined) request.headers.Authorization = authorization;
  return request;
}

/**
 * Leaves optional parameters empty: Swagger UI would send their examples, also of enumerations.
 * Sends requests to the origin of the page, which can have another name than the server has.
 */
function updateJsonSpec(original: (description: unknown) => unknown) {
  const adapted: Reviver = (_key, value) => {
    const part = (value ?? {}) as Part;
    if (part['description'] === 'This server') {
      part['url'] = new URL(String(part['url']), location.href).pathname;
    }
    const isOptional = part['in'] !== undefined && !part['required'];
    if (isOptional || part['enum'] !== undefined) delete part['example'];
    if (isOptional) delete part.schema?.example;
    return value;
  };
  return (description: unknown) => original(parse(JSON.stringify(description), adapted));
}

export {};
