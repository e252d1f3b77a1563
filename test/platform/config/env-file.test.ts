import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareEnvironment } from '../../../src/platform/config/env-file.js';

const inherited = process.env;
let folder: string;
let file: string;
let reported: string[];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'env-file-'));
  file = join(folder, '.env');
  writeFileSync(`${file}.example`, '\nDATABASE_URL=\n# LOG_LEVEL=info\n');
  process.env = {};
  reported = [];
  jest.spyOn(console, 'error').mockImplementation((line: string) => void reported.push(line));
});

afterEach(() => {
  process.env = inherited;
  jest.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

test.each([
  ['is read', 'DATABASE_URL=file\n'],
  ['has comments', '# Production\nDATABASE_URL=file'],
  ['has a byte order mark and line ends of Windows', '\ufeffDATABASE_URL=file\r\n'],
])('.env in the folder of the project › %s', (_title, text) => {
  writeFileSync(file, text);
  prepareEnvironment(folder);
  expect({ variables: process.env, reported }).toEqual({
    variables: { DATABASE_URL: 'file' },
    reported: [],
  });
});

test('.env in the folder of the project › the variables of the environment come first', () => {
  writeFileSync(file, 'DATABASE_URL=file\nLOG_LEVEL=loud\n');
  process.env = { DATABASE_URL: 'environment' };
  prepareEnvironment(folder);
  expect(process.env).toEqual({ DATABASE_URL: 'environment', LOG_LEVEL: 'loud' });
});

test('.env in the folder of the project › reports names that .env.example does not list', () => {
  writeFileSync(file, 'DATABASE_URL=file\nDATABSE_URL=\nLOG_LEVEL=info');
  prepareEnvironment(folder);
  expect(reported).toEqual([`${file}: .env.example does not list DATABSE_URL`]);
});

const UTF_16 = Buffer.from('\ufeffDATABASE_URL=file\r\n', 'utf16le');

test.each([
  ['UTF-16, as Windows saves it', UTF_16],
  ['UTF-16, big-endian', Buffer.from(UTF_16).swap16()],
  ['NUL', 'DATABASE_URL=file\0\n'],
])('.env in the folder of the project › rejects %s', (_title, text) => {
  writeFileSync(file, text);
  expect(() => prepareEnvironment(folder)).toThrow(`${file} is not text in UTF-8`);
});

test('.env in the folder of the project › says that it cannot be read', () => {
  mkdirSync(file);
  expect(() => prepareEnvironment(folder)).toThrow(RegExp(`^${file} cannot be read: .`));
});
