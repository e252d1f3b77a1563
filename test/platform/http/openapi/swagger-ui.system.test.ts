import { readVersion } from '../../../../src/platform/config/version.js';
import { PRODUCT } from '../../../../src/product.js';
import { Chromium, findChromium } from '../../../harness/processes/chromium.js';
import { createItems, createOwner } from '../../../harness/database/factories.js';
import { Description } from '../../../harness/http/description.js';
import { freePort } from '../../../harness/processes/free-port.js';
import { openOperation } from '../../../harness/processes/swagger-ui.js';
import { startService, type TestService } from '../../../harness/service/service.js';

const command = findChromium();
if (command === undefined) {
  console.warn('Swagger UI is not tested: no Chromium (apt-get install -y chromium).');
}

const operation = (id: string): string => `#operations-Items-ItemsController_${id}_v1`;

const TEXTS = [
  'header p',
  '.info .renderedMarkdown p',
  '.response[data-code] .response-col_status',
  '.opblock-deprecated .opblock-summary-method',
  '.opblock-summary-path__deprecated',
];

(command === undefined ? describe.skip : describe)('Swagger UI, in Chromium', () => {
  let service: TestService;
  let browser: Chromium;
  let key: string;
  let origin: string;
  const requested: string[] = [];
  const complaints: unknown[] = [];

  beforeAll(async () => {
    // Not the address that the description has: the page sends requests to its own origin.
    const port = String(await freePort());
    const env = { PORT: port, PUBLIC_URL: `http://127.0.0.1:${port}` };
    service = await startService({ env });
    origin = `http://localhost:${port}`;
    ({ key } = await createOwner(service.database));
    await createItems(service.database, 3);
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
    await browser.open(`${origin}/docs`);
    await browser.waitFor(operation('list'));
  });

  afterAll(async () => {
    await browser.close();
    await service.close();
  });

  const open = (id: string) => openOperation(browser, operation(id));

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
    expect(await browser.evaluate('document.title')).toContain(PRODUCT.title);
    const ids = await browser.evaluate(
      `[...document.querySelectorAll('.opblock')].map((block) => block.id)`,
    );
    expect(ids).toEqual(['list', 'create', 'get'].map((id) => operation(id).slice(1)));
    expect(
      await browser.evaluate(`!!document.querySelector('${operation('get')}.opblock-deprecated')`),
    ).toBe(true);
  });

  it('executes an operation with the entered API key', async () => {
    await browser.click('.auth-wrapper .authorize');
    await browser.type('.auth-container input', key);
    await browser.click('.auth-btn-wrapper .authorize');
    await browser.click('.auth-btn-wrapper .btn-done');
    await open('list');
    const { status, body } = await execute('list');
    expect(status).toMatch(/^200/);
    expect(JSON.parse(body)).toHaveLength(3);
  });

  it('shows the version of the service beside that of the API, and what to paste into Authorize', async () => {
    const version = await browser.evaluate(
      `document.querySelector('.info .version').innerText.trim()`,
    );
    const { info } = (await Description.of(service)).document;
    expect(version).toBe(`API ${info.version}, service ${readVersion('.')}`);
    await browser.click('.auth-wrapper .authorize');
    await browser.waitFor('.auth-container');
    const dialog = await browser.evaluate(`document.querySelector('.auth-container').innerText`);
    expect(dialog).toContain('enter it without Bearer');
    await browser.click('.auth-btn-wrapper .btn-done');
  });

  it('shows an open operation on two screens, each error in a line with its code', async () => {
    await browser.open(`${origin}/docs`);
    await open('list');
    expect(await browser.evaluate('document.documentElement.scrollHeight')).toBeLessThan(2_500);
    const shown = await browser.evaluate<Record<string, [text: string, height: number]>>(`
      Object.fromEntries([...document.querySelectorAll('.response[data-code]')].map((row) =>
        [row.dataset.code, [row.innerText, row.offsetHeight]]))`);
    const description = await Description.of(service);
    const { responses } = description.operation('GET /items');
    expect(Object.keys(shown).toSorted()).toEqual(Object.keys(responses).toSorted());
    for (const [status, response] of Object.entries(responses)) {
      const { content } = description.resolved(response);
      const [code, ...others] = Object.keys(content?.['application/json']?.examples ?? {});
      const [text, height] = shown[status] ?? ['', 0];
      if (code === undefined) continue;
      for (const each of [`"code": "${code}"`, ...others]) expect(text).toContain(each);
      expect(height).toBeLessThan(50);
    }
  });

  it('fits the screen of a phone', async () => {
    const screen = { width: 390, height: 844, deviceScaleFactor: 1, mobile: true };
    await browser.call('Emulation.setDeviceMetricsOverride', screen);
    await open('get');
    await browser.click('.auth-wrapper .authorize');
    await browser.waitFor('.auth-container');
    const [width, ...outside] = await browser.evaluate<[number, ...string[]]>(`(() => {
      const isOutside = (element, card) =>
        element.getBoundingClientRect().right > card.getBoundingClientRect().right + 1;
      const cards = [...document.querySelectorAll('.info, .opblock, .models, .modal-ux')];
      const outside = cards.flatMap((card) => [...card.querySelectorAll(':not(pre *)')]
        .filter((element) => isOutside(element, card))
        .map((element) => card.className + ': ' + element.outerHTML.slice(0, 80)));
      return [document.documentElement.scrollWidth, ...outside];
    })()`);
    await browser.click('.auth-btn-wrapper .btn-done');
    await browser.call('Emulation.clearDeviceMetricsOverride');
    expect({ width, outside }).toEqual({ width: 390, outside: [] });
  });

  it('sends and shows 64-bit integers exactly', async () => {
    await open('create');
    const sent = '{ "name": "Wal {\\"Otto\\"}, [x]: 1", "categoryId": 9223372036854775807 }';
    await browser.type(`${operation('create')} textarea.body-param__text`, sent);
    const { status, body } = await execute('create');
    expect(status).toMatch(/^201/);
    expect(body).toContain('"categoryId": 9223372036854775807');
    expect(JSON.parse(body)).toMatchObject({ name: 'Wal {"Otto"}, [x]: 1' });
  });

  it.each(['dark', 'light'])(
    'follows prefers-color-scheme: %s, and its text is readable',
    async (value) => {
      const features = [{ name: 'prefers-color-scheme', value }];
      await browser.call('Emulation.setEmulatedMedia', { features });
      await browser.waitFor(value === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)');
      const [page, ...contrasts] = await browser.evaluate<number[]>(`(() => {
        const luminance = (color) => color.match(/[\\d.]+/g).slice(0, 3).reduce((sum, part, at) =>
          sum + [0.2126, 0.7152, 0.0722][at] * (part / 255) ** 2.2, 0);
        const backgroundOf = (element) => {
          const { backgroundColor } = getComputedStyle(element);
          const isClear = /(?:, 0|, 0\\.1)\\)$/.test(backgroundColor) && element.parentElement;
          return isClear ? backgroundOf(element.parentElement) : luminance(backgroundColor);
        };
        const contrastOf = (selector) => {
          const element = document.querySelector(selector);
          const both = [luminance(getComputedStyle(element).color), backgroundOf(element)];
          return (Math.max(...both) + 0.05) / (Math.min(...both) + 0.05);
        };
        return [backgroundOf(document.body), ...${JSON.stringify(TEXTS)}.map(contrastOf)];
      })()`);
      expect((page ?? 0) < 0.1).toBe(value === 'dark');
      // WCAG 2.2, level AA.
      expect(Math.min(...contrasts)).toBeGreaterThan(4.5);
      const opacity = `getComputedStyle(document.querySelector('.opblock-deprecated')).opacity`;
      expect(await browser.evaluate(opacity)).toBe('1');
    },
  );

  it('sends no request to another host and causes no browser error', () => {
    const hosts = requested
      .filter((url) => !url.startsWith('data:'))
      .map((url) => new URL(url).origin);
    expect(new Set(hosts)).toEqual(new Set([origin]));
    expect(requested).toContain(`${origin}/v1/items?limit=20`);
    expect(complaints).toEqual([]);
  });
});
