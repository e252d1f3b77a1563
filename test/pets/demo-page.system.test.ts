import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Chromium, findChromium } from '../harness/processes/chromium.js';
import { openOperation } from '../harness/processes/swagger-ui.js';
import { type BuiltService, startBuiltService, TEAM_MAIN } from '../harness/service/service.js';

const command = findChromium();
const LIST = '#operations-Pets-listPets';

(command === undefined ? describe.skip : describe)('Swagger UI of the embedded default', () => {
  let dataDir: string;
  let service: BuiltService;
  let browser: Chromium;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'pets-docs-'));
    // The server's operating system user, if any, needs access to the folder.
    await chmod(dataDir, 0o755);
    service = await startBuiltService({ DATA_DIR: dataDir }, TEAM_MAIN);
    browser = await Chromium.start(command ?? '');
  });
  afterAll(async () => {
    await browser.close();
    await service.stop();
    await rm(dataDir, { recursive: true, force: true });
  });

  it('has filled in the demo API key: the first Execute returns 200', async () => {
    await browser.open(`${service.url}/docs`);
    await openOperation(browser, LIST);
    await browser.click(`${LIST} .execute`);
    const status = `${LIST} .live-responses-table .response .response-col_status`;
    await browser.waitFor(status);
    expect(await browser.evaluate(`document.querySelector('${status}').innerText.trim()`)).toMatch(
      /^200/,
    );
  });
});
