// @ts-check
// Compiles src/ to dist/ as `nest build` does: TypeScript with the plugins of nest-cli.json. The Nest
// CLI itself is not installed, because its code generators do not support Node 20.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import ts from 'typescript';

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * @typedef {{ name: string, options: Record<string, unknown> }} PluginEntry
 * @typedef {{ before(options: Record<string, unknown>, program: ts.Program): ts.TransformerFactory<ts.SourceFile> }} Plugin
 */

/** @type {{ compilerOptions: { tsConfigPath: string, plugins: PluginEntry[] } }} */
const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'nest-cli.json'), 'utf8'));
export const CONFIG_FILE = join(ROOT, compilerOptions.tsConfigPath);

if (process.argv[1] === fileURLToPath(import.meta.url)) process.exitCode = await compile();

/** @returns {Promise<number>} the exit code */
async function compile() {
  /** @type {ts.ParseConfigFileHost} */
  const host = {
    ...ts.sys,
    onUnRecoverableConfigFileDiagnostic: (diagnostic) => report([diagnostic]),
  };
  const config = ts.getParsedCommandLineOfConfigFile(CONFIG_FILE, {}, host);
  if (!config) return 1;
  const program = ts.createProgram(config.fileNames, config.options);
  const errors = [...ts.getPreEmitDiagnostics(program), ...config.errors];
  report(errors);
  if (errors.length > 0) return 1;

  if (config.options.outDir) rmSync(config.options.outDir, { recursive: true, force: true });
  const before = (await loadPlugins()).map(({ plugin, options }) =>
    plugin.before(options, program),
  );
  const { diagnostics } = program.emit(undefined, undefined, undefined, undefined, { before });
  report(diagnostics);
  compressDocs();
  return diagnostics.length > 0 ? 1 : 0;
}

/**
 * Writes the files of the page /docs as the service sends them: compressed with gzip, under the
 * names that the page uses.
 */
function compressDocs() {
  const swaggerUi = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
  const files = [
    join(swaggerUi, 'favicon-32x32.png'),
    join(swaggerUi, 'swagger-ui.css'),
    join(swaggerUi, 'swagger-ui-bundle.js'),
    join(ROOT, 'src/platform/http/openapi/browser/page.css'),
    join(ROOT, 'dist/platform/http/openapi/browser/start-swagger-ui.js'),
  ];
  const folder = join(ROOT, 'dist/platform/http/openapi/compressed/docs');
  mkdirSync(folder, { recursive: true });
  for (const file of files) {
    writeFileSync(join(folder, basename(file)), gzipSync(readFileSync(file), { level: 9 }));
  }
}

/**
 * Compiles src/ now and whenever a file changes, and reports errors to standard error.
 *
 * @param {() => void} onCompiled called after each compilation without errors
 * @returns {Promise<() => void>} a function that stops watching
 */
export async function watchSources(onCompiled) {
  const plugins = await loadPlugins();
  const host = ts.createWatchCompilerHost(
    CONFIG_FILE,
    {},
    ts.sys,
    ts.createEmitAndSemanticDiagnosticsBuilderProgram,
    (diagnostic) => report([diagnostic]),
    () => undefined,
  );
  host.afterProgramCreate = (builder) => {
    const program = builder.getProgram();
    const errors = [...builder.getSyntacticDiagnostics(), ...builder.getSemanticDiagnostics()];
    report(errors);
    if (errors.length > 0) return;
    const before = plugins.map(({ plugin, options }) => plugin.before(options, program));
    builder.emit(undefined, undefined, undefined, undefined, { before });
    compressDocs();
    onCompiled();
  };
  const watch = ts.createWatchProgram(host);
  return () => watch.close();
}

/** Returns the compiler plugins of nest-cli.json. */
export async function loadPlugins() {
  return Promise.all(
    compilerOptions.plugins.map(async ({ name, options }) => {
      /** @type {Plugin} */
      const plugin = await import(`${name}/plugin`);
      return { plugin, options };
    }),
  );
}

/** @param {readonly ts.Diagnostic[]} diagnostics */
function report(diagnostics) {
  if (diagnostics.length === 0) return;
  process.stderr.write(
    ts.formatDiagnosticsWithColorAndContext(diagnostics, {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => ROOT,
      getNewLine: () => '\n',
    }),
  );
}
