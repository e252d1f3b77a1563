// Runs in the browser on the page /docs. The file is served as compiled, so it has no imports.

/** The part of Swagger UI's bundle that this file uses. */
declare const SwaggerUIBundle: ((options: object) => {
  preauthorizeApiKey(scheme: string, key: string): void;
}) & { presets: { apis: unknown } };
declare const location: { href: string };
declare const document: { querySelector(selector: string): { content: string } | null };

interface SwaggerUiSystem {
  React: { createElement(type: unknown, props: object | null, ...children: unknown[]): unknown };
  getComponent: (name: string, connected: true) => unknown;
}

/** An immutable map of Swagger UI. */
interface InfoProps {
  info: { get(name: 'description'): string; set(name: 'description', text: string): unknown };
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

const demoKey = document.querySelector('meta[name="demo-api-key"]')?.content;

const page = SwaggerUIBundle({
  url: new URL('openapi.json', location.href).href,
  dom_id: '#swagger-ui',
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [exactResponseBodies, withoutOptionalExamples, foldedDetails],
  deepLinking: true,
  displayRequestDuration: true,
  persistAuthorization: true,
  tryItOutEnabled: true,
  requestInterceptor: withoutRepeatedScheme,
  onComplete: () => {
    if (demoKey !== undefined) page.preauthorizeApiKey('apiKey', demoKey);
  },
  // The default loads a badge from another host.
  validatorUrl: null,
});

/** Accepts an API key that was pasted with its scheme: Swagger UI adds `Bearer` once more. */
function withoutRepeatedScheme(request: { headers: Record<string, string> }): object {
  const { Authorization: authorization } = request.headers;
  if (authorization !== undefined) {
    request.headers['Authorization'] = authorization.replace(/^(?:Bearer\s+)+/i, 'Bearer ').trim();
  }
  return request;
}

/** Folds the introduction after its first paragraph, and headers and errors of responses. */
function foldedDetails(system: SwaggerUiSystem): object {
  const fold = (summary: string, content: unknown, className?: string): unknown => {
    const { React } = system;
    const title = React.createElement('summary', null, summary);
    return React.createElement('details', { className }, title, content);
  };
  const info = (Original: unknown) => (props: InfoProps) => {
    const { React, getComponent } = system;
    const [first = '', ...rest] = props.info.get('description').split('\n\n');
    const markdown = getComponent('Markdown', true);
    return React.createElement(
      'div',
      null,
      React.createElement(Original, { ...props, info: props.info.set('description', first) }),
      fold(
        'Authentication, rate limits, pages, retries, errors',
        React.createElement(markdown, { source: rest.join('\n\n') }),
        'info',
      ),
    );
  };
  const headers = (Original: unknown) => (props: { headers: { size: number } }) =>
    fold(`Headers (${props.headers.size})`, system.React.createElement(Original, props));
  const modelExample = (Original: unknown) => (props: { specPath: Iterable<string> }) => {
    const example = system.React.createElement(Original, props);
    // Such as paths, /pets, get, responses, 400.
    const [, , , kind, status = ''] = props.specPath;
    return kind === 'responses' && !/^[23]/.test(status) ? fold('Body', example) : example;
  };
  return { wrapComponents: { info, headers, modelExample } };
}

/** Shows JSON responses unparsed, because Swagger UI rounds integers above 2^53. */
function exactResponseBodies(system: SwaggerUiSystem): object {
  const responseBody =
    (Original: unknown) => (props: { content: unknown; contentType?: string }) => {
      // Undefined until the plugin is loaded.
      const { React, getComponent } = system;
      const { content, contentType = '' } = props;
      if (typeof content !== 'string' || !content || !/^application\/json\b/.test(contentType)) {
        return React.createElement(Original, props);
      }
      const code = {
        language: 'json',
        downloadable: true,
        fileName: 'response.json',
        canCopy: true,
      };
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
