import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';

const ROOT = join(__dirname, '../../..');
const PAGE = 'docs/extending.md';
/** A block that is a file of its own begins with its path, relative to src/ or in test/. */
const FILE_NAME = /^\/\/ (\S+\.ts)\n/;
const LINKED_FILE = /\]\(\.\.\/((?:src|test|examples)\/[^)]+\.ts)\)/g;

interface Block {
  line: number;
  code: string;
  /** The file whose excerpt the block is: the last one that the paragraph above links to. */
  excerptOf: string | undefined;
  /** The file that the block is. */
  file: string | undefined;
}

function blocksOf(page: string): Block[] {
  return [...page.matchAll(/^```ts\n([^]*?)^```$/gm)].map((match) => {
    const [, code = ''] = match;
    const before = page.slice(0, match.index).trimEnd();
    const paragraph = before.slice(before.lastIndexOf('\n\n'));
    const links = [...paragraph.matchAll(LINKED_FILE)].map(([, file]) => file);
    const file = FILE_NAME.exec(code)?.[1];
    return {
      line: before.split('\n').length,
      code,
      excerptOf: file === undefined ? links.at(-1) : undefined,
      file: file?.startsWith('test/') ? file : file && join('examples', file),
    };
  });
}

const lines = (code: string): string[] => code.split('\n').map((line) => line.trim());

const blocks = blocksOf(readFileSync(join(ROOT, PAGE), 'utf8'));
const excerpts = blocks.flatMap(({ excerptOf, ...block }) =>
  excerptOf === undefined ? [] : [{ ...block, excerptOf }],
);
const files = new Map(
  blocks.flatMap(({ file, code }) => (file === undefined ? [] : [[join(ROOT, file), code]])),
);

test('every block of code is an excerpt of a file, or a file', () => {
  expect(excerpts.length).toBeGreaterThan(15);
  expect(files.size).toBeGreaterThan(2);
  const others = blocks.filter(({ excerptOf, file }) => excerptOf === undefined && !file);
  expect(others.map(({ line }) => `${PAGE}:${line}`)).toEqual([]);
});

test.each(excerpts)('the block after line $line is in $excerptOf', ({ excerptOf, code }) => {
  const source = lines(readFileSync(join(ROOT, excerptOf), 'utf8')).join('\n');
  expect(source).toContain(lines(code.trimEnd()).join('\n'));
});

test('the blocks that are files compile', () => {
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
