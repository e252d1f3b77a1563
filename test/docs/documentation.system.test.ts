import { Settings } from '../../src/platform/config/settings.js';
import { brokenLinks, markdownFiles } from '../harness/pages/links.js';
import { readProjectFile } from '../harness/stack/compose-file.js';
import { PRODUCT } from '../../src/product.js';

/** A team may change or delete what these links lead to. test/docs/animals/pages.system.test.ts checks them. */
const OF_THE_ANIMALS =
  /(?:^|\/)(?:src\/pets|src\/demo|test\/pets|examples\/orders|openapi\.yaml)(?:\/|$)/;

test.each(markdownFiles())('%s: every link leads to a file and a heading that exist', (page) => {
  expect(brokenLinks(page).filter((link) => !OF_THE_ANIMALS.test(link))).toEqual([]);
});

/** The names of all settings that the service reads, without former names. */
function settingNames(): string[] {
  const names = new Set<string>();
  new Settings(
    PRODUCT,
    new Proxy<NodeJS.ProcessEnv>({}, { get: (_, name) => void names.add(String(name)) }),
  );
  return [...names];
}

test('.env.example lists every setting, and every variable of docker-compose.yml', () => {
  const example = readProjectFile('.env.example');
  const compose = readProjectFile('docker-compose.yml').matchAll(/\$\{(\w+)/g);
  const names = [...settingNames(), ...Array.from(compose, ([, name = '']) => name)];
  expect(names.filter((name) => !new RegExp(`^# ${name}=`, 'm').test(example))).toEqual([]);
});
