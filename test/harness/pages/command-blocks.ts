import { execFileSync } from 'node:child_process';
import { readProjectFile } from '../stack/compose-file.js';

/** The languages of fenced blocks that a reader runs. Without a language, too. */
const LANGUAGES = ['', 'bash', 'console', 'sh'];

/** A fenced block of a page. */
export interface CommandBlock {
  page: string;
  /** The line of the page, from 1, on which the code begins. */
  line: number;
  language: string;
  code: string;
}

/** How tests and failures name a block: its page and the beginning of its first line. */
export const nameOf = ({ page, code }: CommandBlock): string =>
  `${page} › ${code.split('\n', 1).join().slice(0, 60)}`;

/** The blocks of all pages of the project, in the order of the pages. */
export const BLOCKS: readonly CommandBlock[] = commandBlocks();

/** Returns the block of a page that begins with a text. @throws Error if there is none */
export function findBlock(page: string, start: string): CommandBlock {
  const found = BLOCKS.find((each) => each.page === page && each.code.startsWith(start));
  if (!found) throw new Error(`${page} has no block of commands that begins with: ${start}`);
  return found;
}

function commandBlocks(): CommandBlock[] {
  const files = execFileSync(
    'git',
    ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'],
    {
      cwd: `${__dirname}/../../..`,
      encoding: 'utf8',
    },
  );
  const blocks = files.split('\0').filter(Boolean).sort().flatMap(blocksOf);
  return blocks.filter(({ language }) => LANGUAGES.includes(language));
}

/** Returns the commands of a console and their outputs. */
export function sessionOf({ code }: CommandBlock): [command: string, output: string][] {
  return code
    .split(/^\$ /m)
    .slice(1)
    .map((text) => {
      const [command = '', ...output] = text.split('\n');
      return [command, output.join('\n').trim()];
    });
}

/** Returns all fenced blocks of a page, in their order, also those that are not for a shell. */
export function blocksOf(page: string): CommandBlock[] {
  const text = readProjectFile(page);
  return [...text.matchAll(/^( *)```(\w*)\n([^]*?)^ *```$/gm)].map((match) => {
    const [, indent = '', language = '', code = ''] = match;
    const line = text.slice(0, match.index).split('\n').length + 1;
    const lines = code.split('\n').map((each) => each.slice(indent.length));
    return { page, line, language, code: lines.join('\n') };
  });
}
