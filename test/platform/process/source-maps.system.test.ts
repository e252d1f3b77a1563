import { readFileSync } from 'node:fs';
import { type Debugger, type InspectorNotification, Session } from 'node:inspector';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { listFiles } from '../../../scripts/build.mjs';
import { PRODUCT } from '../../../src/product.js';
import { missingSources } from '../../harness/run/source-maps.js';

const ROOT = resolve(__dirname, '../../..');

test('a debugger finds the sources of a test, and those of src that it loads', () => {
  expect(PRODUCT.name).toEqual(expect.any(String));
  const session = new Session();
  session.connect();
  const maps = new Map<string, string | undefined>();
  session.on(
    'Debugger.scriptParsed',
    ({ params }: InspectorNotification<Debugger.ScriptParsedEventDataType>) => {
      if (params.url.endsWith('.ts')) maps.set(fileURLToPath(params.url), params.sourceMapURL);
    },
  );
  session.post('Debugger.enable');
  session.disconnect();
  expect([...maps.keys()]).toContain(join(ROOT, 'src/product.ts'));
  expect([...maps.keys()]).toContain(__filename);
  const missing = [...maps].map(([file, map]) => (map ? missingSources(file, map) : file));
  expect(missing.flat()).toEqual([]);
});

test.each(['product', 'team'])(
  'a debugger finds the sources of the service that tests start: reports/%s',
  (name) => {
    const folder = join(ROOT, 'reports', name);
    const programs = listFiles(folder).filter((file) => file.endsWith('.js'));
    const missing = programs.flatMap((file) => {
      const path = join(folder, file);
      // The lists of modules have no source.
      const [, map] = /^\/\/# sourceMappingURL=(.+)$/m.exec(readFileSync(path, 'utf8')) ?? [];
      return map ? missingSources(path, map) : [];
    });
    expect(programs.length).toBeGreaterThan(100);
    expect(missing).toEqual([]);
  },
);
