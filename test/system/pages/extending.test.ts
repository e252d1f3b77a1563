import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = join(__dirname, '../../..');

/** Blocks of code that begin with a comment that is their path, such as a test to copy. */
const files = new Map(
  ['docs/extending.md', 'docs/first-change.md'].flatMap((page) =>
    [
      ...readFileSync(join(ROOT, page), 'utf8').matchAll(
        /^ *```ts\n *\/\/ (\S+\.ts)\n([^]*?)```$/gm,
      ),
    ].map(([, file = '', code = '']) => [join(ROOT, file), code] as const),
  ),
);

test('the files that docs/extending.md and docs/first-change.md print compile', () => {
  expect(files.size).toBe(2);
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) =>
    ts.sys.readFile(path),
  );
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const disk = ts.createCompilerHost(options);
  const folders = new Set([...files.keys()].map((path) => dirname(path)));
  const host: ts.CompilerHost = {
    ...disk,
    readFile: (path) => files.get(path) ?? disk.readFile(path),
    fileExists: (path) => files.has(path) || disk.fileExists(path),
    directoryExists: (path) => folders.has(path) || (disk.directoryExists?.(path) ?? false),
    getSourceFile: (path, ...rest) => {
      const code = files.get(path);
      return code === undefined
        ? disk.getSourceFile(path, ...rest)
        : ts.createSourceFile(path, code, rest[0], true);
    },
  };
  const program = ts.createProgram([...files.keys()], options, host);
  const diagnostics = [...files.keys()].flatMap((path) => {
    const source = program.getSourceFile(path);
    return [...program.getSyntacticDiagnostics(source), ...program.getSemanticDiagnostics(source)];
  });
  expect(
    ts.formatDiagnostics(diagnostics, {
      getCanonicalFileName: (name) => name,
      getCurrentDirectory: () => ROOT,
      getNewLine: () => '\n',
    }),
  ).toBe('');
}, 180_000);
