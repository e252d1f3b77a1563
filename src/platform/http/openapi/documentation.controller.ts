import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, extname } from 'node:path';
import { gzipSync } from 'node:zlib';
import { All, Controller, Get, Header, Redirect, Req, Res, VERSION_NEUTRAL } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import { Public } from '../request/public.decorator.js';
import { Settings } from '../../config/settings.js';
import type { Request, Response } from '../request/request.js';
import { sendBody } from '../response/send-body.js';
import { ApiVersions } from '../routing/api-versions.js';
import { DemoKey } from './demo-key.js';
import { OpenApiDescription } from './openapi-description.js';

const { resolve } = createRequire(import.meta.url);
/** The files of the folder `browser`. The others are those of Swagger UI. */
const OWN_FILES = ['page.css', 'start-swagger-ui.js'];
const FILES = ['favicon-32x32.png', 'swagger-ui.css', 'swagger-ui-bundle.js', ...OWN_FILES].map(
  (name) => `docs/${name}`,
);
const DESCRIPTIONS = ['openapi.json', 'openapi.yaml'];
const REDIRECTS = ['/', 'docs{/}'];
/** Swagger UI's style sheet has `data:` icons, and the page sends requests to the base addresses. */
const CONTENT_SECURITY_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'";

/**
 * The OpenAPI description and Swagger UI. `SwaggerModule.setup()` would register handlers that no
 * guard counts or rejects. It sends its responses itself, so that an interceptor of a feature does not
 * wrap them.
 */
@Public()
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class DocumentationController {
  /** Read at the start, because a request may come when the process can open no more files. */
  private readonly files = new Map(FILES.map((path) => [`/${path}`, compressed(basename(path))]));

  constructor(
    private readonly settings: Settings,
    private readonly description: OpenApiDescription,
    private readonly demoKey: DemoKey,
  ) {}

  @Get('docs')
  @Header('Cache-Control', 'no-store')
  @Header('Referrer-Policy', 'no-referrer')
  page(@Req() request: Request, @Res() response: Response): void {
    const { publicUrl, stagingUrl } = this.settings.server;
    const targets = [publicUrl, stagingUrl].map((url) => (url ? ` ${url}/` : '')).join('');
    response
      .type('html')
      .setHeader('Content-Security-Policy', `${CONTENT_SECURITY_POLICY}${targets}`);
    sendBody(request, response, docsPage(this.settings, this.demoKey.for(request)));
  }

  @Get(REDIRECTS)
  @Redirect()
  redirect(): { url: string } {
    const { publicUrl = 'http://localhost' } = this.settings.server;
    return { url: `${new URL(publicUrl).pathname.replace(/\/$/, '')}/docs` };
  }

  @Get(DESCRIPTIONS)
  openapi(@Req() request: Request, @Res() response: Response): void {
    const format = request.path === '/openapi.json' ? 'json' : 'yaml';
    response.setHeader('Content-Type', `application/${format}`);
    sendBody(request, response, this.description.current()[format]);
  }

  /**
   * Sends the same bytes for all requests: an open file or a copy for each would let clients that do
   * not read use up memory. Sends gzip to every client, because only browsers load the files.
   */
  @Get(FILES)
  @Header('Content-Encoding', 'gzip')
  @Header('Cache-Control', 'public, max-age=3600')
  file(@Req() request: Request, @Res() response: Response): void {
    response.type(extname(request.path));
    sendBody(request, response, this.files.get(request.path) ?? '');
  }
}

function compressed(name: string): Buffer {
  // Tests can run the sources, where it is not compiled: it has the extension of this file.
  const source = name.replace(/\.js$/, extname(import.meta.url));
  const url = new URL(`./browser/${source}`, import.meta.url);
  return gzipSync(
    readFileSync(OWN_FILES.includes(name) ? url : resolve(`swagger-ui-dist/${name}`)),
  );
}

/** Returns the page. Its URLs are relative to /docs, so that a proxy can add a path prefix. */
function docsPage({ product, version }: Settings, demoKey = ''): string {
  const escape = (text: string) => text.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`);
  const title = escape(product.title);
  const command = escape(product.command);
  const notice = demoKey
    ? 'The demo API key of this service is filled in. Open an operation and select Execute.'
    : `Every operation needs an API key. The operator of this service issues one with <code>${command} keys issue</code>. Select Authorize and paste it.`;
  return `<!doctype html>
<html lang="en">
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>${title}: API</title>
  <link rel="icon" href="docs/favicon-32x32.png">
  <link rel="stylesheet" href="docs/swagger-ui.css">
  <link rel="stylesheet" href="docs/page.css">
  <header class="swagger-ui"><div class="wrapper"><p class="pt3">${notice}</p></div></header>
  <main id="swagger-ui" data-key="${demoKey}" data-release="${version}"></main>
  <script src="docs/swagger-ui-bundle.js"></script>
  <script type="module" src="docs/start-swagger-ui.js"></script>
</html>`;
}

/** Replaces it with `DOCS=false`: 404 for all methods. */
@Public()
@ApiExcludeController()
@Controller({ version: VERSION_NEUTRAL })
export class NoDocumentationController {
  constructor(private readonly versions: ApiVersions) {}

  @All(['docs', ...REDIRECTS, ...DESCRIPTIONS, ...FILES])
  reject(): never {
    throw this.versions.routeNotFound();
  }
}
