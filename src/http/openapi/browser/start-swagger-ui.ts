// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

/** The part of Swagger UI's bundle that this file uses. */
declare const SwaggerUIBundle: ((options: object) => void) & { presets: { apis: unknown } };
declare const location: { href: string };

interface SwaggerUiSystem {
  React: { createElement(type: unknown, props: object | null, ...children: unknown[]): unknown };
  getComponent: (name: string, connected: true) => unknown;
}

interface ResponseBodyProps {
  content: unknown;
  contentType?: string;
}

interface SchemaDescription {
  $ref?: string;
  example?: unknown;
}

interface ParameterDescription {
  required?: boolean;
  example?: unknown;
  schema?: SchemaDescription;
}

interface InterfaceDescription {
  paths: Record<string, Record<string, { parameters?: ParameterDescription[] }>>;
  components: {
    parameters: Record<string, ParameterDescription>;
    schemas: Record<string, SchemaDescription>;
  };
}

SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [exactResponseBodies, withoutOptionalExamples],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  // The default loads a badge from another host.
  validatorUrl: null,
});

/** Shows JSON responses unparsed, because Swagger UI rounds integers above 2^53. */
function exactResponseBodies(system: SwaggerUiSystem): object {
  const responseBody = (Original: unknown) => (props: ResponseBodyProps) => {
    // Undefined until the plugin is loaded.
    const { React, getComponent } = system;
    const { content, contentType = '' } = props;
    if (typeof content !== 'string' || !content || !/^application\/json\b/.test(contentType)) {
      return React.createElement(Original, props);
    }
    const code = { language: 'json', downloadable: true, fileName: 'response.json', canCopy: true };
    return React.createElement(
      'div',
      null,
      React.createElement('h5', null, 'Response body'),
      React.createElement(getComponent('HighlightCode', true), code, indented(content)),
    );
  };
  return { wrapComponents: { responseBody } };
}

/** Adds line breaks and indentation to JSON text without changing its tokens. */
function indented(json: string): string {
  const tokens = json.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s"{}[\],:]+/g) ?? [];
  let depth = 0;
  let text = '';
  const lineBreak = () => `\n${'  '.repeat(depth)}`;
  tokens.forEach((token, index) => {
    const previous = tokens[index - 1] ?? '';
    if (token === '}' || token === ']') {
      depth--;
      text += (previous === '{' || previous === '[' ? '' : lineBreak()) + token;
    } else {
      text += (previous === '{' || previous === '[' || previous === ',' ? lineBreak() : '') + token;
      if (token === ':') text += ' ';
      if (token === '{' || token === '[') depth++;
    }
  });
  return text;
}

/** Leaves optional parameters empty, because Swagger UI would send their examples. */
function withoutOptionalExamples(): object {
  const updateJsonSpec = (original: (description: InterfaceDescription) => unknown) => {
    return (description: InterfaceDescription) => {
      const { parameters: shared, schemas } = description.components;
      const operations = Object.values(description.paths).flatMap((path) => Object.values(path));
      const own = operations.flatMap(({ parameters }) => parameters ?? []);
      for (const parameter of [...own, ...Object.values(shared)]) {
        if (parameter.required) continue;
        delete parameter.example;
        const name = parameter.schema?.$ref?.replace(/^.*\//, '') ?? '';
        const { example: _example, ...schema } = schemas[name] ?? parameter.schema ?? {};
        parameter.schema = schema;
      }
      return original(description);
    };
  };
  return { statePlugins: { spec: { wrapActions: { updateJsonSpec } } } };
}

export {};
