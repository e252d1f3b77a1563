import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { unknownKey } from '../../harness/database/api-keys.js';

const policy = readFileSync(join(__dirname, '../../../SECURITY.md'), 'utf8');
const pattern = new RegExp(/^```regex\n(.+)\n```$/m.exec(policy)?.[1] ?? '(?!)', 'g');

test('the regular expression of SECURITY.md finds every API key in a text', () => {
  const keys = Array.from({ length: 200 }, unknownKey);
  const text = keys.map((key, index) => `KEY_${index}="${key}" # ${key.slice(0, 20)}`).join('\n');
  expect(text.match(pattern)).toEqual(keys);
});

test('the regular expression of SECURITY.md does not match hints, truncated keys or other tokens', () => {
  const key = unknownKey();
  const others = [
    `${key.slice(0, 8)}…${key.slice(-4)}`,
    key.slice(0, -1),
    key.toUpperCase(),
    key.replace('_', '-'),
    `ghp_${key.slice(4)}`,
  ];
  expect(others.join('\n').match(pattern)).toBeNull();
});
