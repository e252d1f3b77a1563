import { writeFile } from 'node:fs/promises';
import { Chromium, findChromium } from './harness/processes/chromium.js';
import { createOwner, createPets } from './harness/database/factories.js';
import { startService, type TestService } from './harness/service/service.js';

const command = findChromium();
if (command === undefined) {
  console.warn('Swagger UI is not tested: no Chromium (apt-get install -y chromium).');
}

(command === undefined ? describe.skip : describe)('Swagger UI, in Chromium', () => {
  let service: TestService;
  let browser: Chromium;
  let key: string;
  const requested: string[] = [];
  const complaints: unknown[] = [];

  beforeAll(async () => {
    service = await startService();
    ({ key } = await createOwner(service.database));
    await createPets(service.database, 3);
    browser = await Chromium.start(command ?? '');
    browser.on('Network.requestWillBeSent', ({ request }) => {
      requested.push((request as { url: string }).url);
    });
    // The browser reports violations of the Content-Security-Policy here.
    browser.on('Log.entryAdded', ({ entry }) => complaints.push(entry));
    browser.on('Runtime.consoleAPICalled', ({ type, args }) => {
      if (type === 'error' || type === 'warning') complaints.push(args);
    });
    browser.on('Runtime.exceptionThrown', ({ exceptionDetails }) =>
      complaints.push(exceptionDetails),
    );
    await browser.open(`${service.url}/docs`);
    await browser.waitFor('#operations-Pets-listPets');
  }, 60_000);

  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  const operation = (id: string): string => `#operations-Pets-${id}`;

  async function open(id: string): Promise<void> {
    await browser.click(`${operation(id)} .opblock-summary-control`);
    await browser.waitFor(`${operation(id)} .execute`);
    // Swagger UI resolves the references of an operation when it opens.
    await browser.waitFor(`${operation(id)} .responses-wrapper .model-example .highlight-code`);
  }

  /** Executes an open operation. Returns the status and body that the page shows. */
  async function execute(id: string): Promise<{ status: string; body: string }> {
    await browser.click(`${operation(id)} .execute`);
    const response = `${operation(id)} .live-responses-table .response`;
    await browser.waitFor(`${response} .highlight-code`);
    return browser.evaluate(`({
      status: document.querySelector('${response} .response-col_status').innerText.trim(),
      body: document.querySelector('${response} .highlight-code pre').innerText,
    })`);
  }

  it('shows the three operations under its title', async () => {
    expect(await browser.evaluate('document.title')).toContain('Animal Adoption Store Service');
    const ids = await browser.evaluate(
      `[...document.querySelectorAll('.opblock')].map((block) => block.id)`,
    );
    expect(ids).toEqual(['listPets', 'createPet', 'getPet'].map((id) => operation(id).slice(1)));
    expect(
      await browser.evaluate(
        `!!document.querySelector('${operation('getPet')}.opblock-deprecated')`,
      ),
    ).toBe(true);
  });

  it('executes an operation with the entered API key', async () => {
    await browser.click('.auth-wrapper .authorize');
    await browser.type('.auth-container input', key);
    await browser.click('.auth-btn-wrapper .authorize');
    await browser.click('.auth-btn-wrapper .btn-done');
    await open('listPets');
    const { status, body } = await execute('listPets');
    expect(status).toMatch(/^200/);
    expect(JSON.parse(body)).toHaveLength(3);
  });

  it('keeps the API key after a reload', async () => {
    await browser.open(`${service.url}/docs`);
    await browser.waitFor(operation('listPets'));
    await open('listPets');
    expect((await execute('listPets')).status).toMatch(/^200/);
  });

  it('sends and shows 64-bit integers exactly', async () => {
    await open('createPet');
    const sent = '{ "name": "Wal {\\"Otto\\"}, [x]: 1", "categoryId": 9223372036854775807 }';
    await browser.type(`${operation('createPet')} textarea.body-param__text`, sent);
    const { status, body } = await execute('createPet');
    expect(status).toMatch(/^201/);
    expect(body).toContain('"categoryId": 9223372036854775807');
    expect(JSON.parse(body)).toMatchObject({ name: 'Wal {"Otto"}, [x]: 1' });
  });

  it('sends no request to another host and causes no browser error', async () => {
    if (process.env['SCREENSHOT'])
      await writeFile(process.env['SCREENSHOT'], await browser.screenshot({ fullPage: true }));
    const hosts = requested
      .filter((url) => !url.startsWith('data:'))
      .map((url) => new URL(url).origin);
    expect(new Set(hosts)).toEqual(new Set([service.url]));
    expect(requested).toContain(`${service.url}/v1/pets?limit=20`);
    expect(complaints).toEqual([]);
  });
});
