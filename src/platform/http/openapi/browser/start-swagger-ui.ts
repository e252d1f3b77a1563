// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

declare const SwaggerUIBundle: (options: object) => {
  preauthorizeApiKey(scheme: string, key: string): void;
};
declare const document: {
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

// The Links column is always empty. Without it, the page fits the screen of a phone.
document.styleSheets[0]?.insertRule('.swagger-ui .response-col_links { display: none }');

const page = SwaggerUIBundle({
  url: 'openapi.json',
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
