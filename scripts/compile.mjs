// @ts-check
// What `nest build` does with nest-cli.json (TypeScript with the plugins named there), without the
// Nest CLI: that one loads its code generators first, which the oldest Node supported here cannot.
import { readFileSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), '..');

/**
 * @typedef {{ name: string, options: Record<string, unknown> }} PluginEntry
 * @typedef {{ before(options: Record<string, unknown>, program: ts.Program): ts.TransformerFactory<ts.SourceFile> }} Plugin
 */

/** @type {{ compilerOptions: { tsConfigPath: string, plugins: PluginEntry[] } }} */
const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, 'nest-cli.json'), 'utf8'));

/** @type {ts.ParseConfigFileHost} */
const parseHost = {
  ...ts.sys,
  onUnRecoverableConfigFileDiagnostic: (diagnostic) => {
    report([diagnostic]);
    process.exit(1);
  },
};
const config = ts.getParsedCommandLineOfConfigFile(
  join(ROOT, compilerOptions.tsConfigPath),
  {},
  parseHost,
);
if (!config) process.exit(1);
const program = ts.createProgram(config.fileNames, config.options);

const transformers = await Promise.all(
  compilerOptions.plugins.map(async ({ name, options }) => {
    /** @type {Plugin} */
    const plugin = await import(`${name}/plugin`);
    return plugin.before(options, program);
  }),
);

const errors = ts.getPreEmitDiagnostics(program);
report([...errors, ...config.errors]);
if (errors.length > 0 || config.errors.length > 0) process.exit(1);

if (config.options.outDir) rmSync(config.options.outDir, { recursive: true, force: true });
const { diagnostics } = program.emit(undefined, undefined, undefined, undefined, {
  before: transformers,
});
report(diagnostics);
process.exitCode = diagnostics.length > 0 ? 1 : 0;

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
