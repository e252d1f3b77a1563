// @ts-check
// Writes docs/swagger-ui.png, a screenshot of Swagger UI after a request to a running service.
// Usage: node scripts/screenshot.mjs [URL]
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILE = resolve(dirname(fileURLToPath(import.meta.url)), '../docs/swagger-ui.png');
const SIZE = { width: 1100, height: 900 };
const WAIT_LIMIT_MS = 20_000;

/** Opens the list operation, executes it, hides its API key and parameters, and scrolls to the result. */
const EXECUTE = `(async () => {
  const find = async (selector) => {
    for (;;) {
      const element = document.querySelector(selector);
      if (element) return element;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const list = '#operations-Pets-listPets';
  (await find(list + ' .opblock-summary-control')).click();
  (await find(list + ' .execute')).click();
  await find(list + ' .live-responses-table');
  // The command contains the API key.
  document.querySelector(list + ' .curl-command').remove();
  document.querySelector(list + ' .opblock-section').remove();
  document.querySelector(list).scrollIntoView();
})()`;

const [url = 'http://127.0.0.1:3000'] = process.argv.slice(2);
const profile = mkdtempSync(join(tmpdir(), 'screenshot-'));
const flags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-dev-shm-usage',
  '--hide-scrollbars',
  `--window-size=${SIZE.width},${SIZE.height}`,
  `--user-data-dir=${profile}`,
  '--remote-debugging-pipe',
];
const browser = spawn('chromium', flags, {
  stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'],
  timeout: WAIT_LIMIT_MS,
});
try {
  const call = commandsOf(browser);
  const { targetId } = await call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await call('Target.attachToTarget', { targetId, flatten: true });
  await call('Page.navigate', { url: `${url}/docs` }, sessionId);
  const evaluation = { expression: EXECUTE, awaitPromise: true };
  const { exceptionDetails } = await call('Runtime.evaluate', evaluation, sessionId);
  if (exceptionDetails) throw new Error(JSON.stringify(exceptionDetails));
  const { data } = await call('Page.captureScreenshot', { format: 'png' }, sessionId);
  writeFileSync(FILE, Buffer.from(data, 'base64'));
} finally {
  browser.kill();
  await once(browser, 'close');
  rmSync(profile, { recursive: true, force: true });
}

/**
 * Returns a function that sends a command of the DevTools protocol and resolves to its result.
 *
 * @param {import('node:child_process').ChildProcess} child
 */
function commandsOf(child) {
  const [, , , input, output] = child.stdio;
  if (!input || !('write' in input) || !output || !('setEncoding' in output)) {
    throw new Error('Chromium has no debugging pipes.');
  }
  /** @type {Map<number, (message: any) => void>} */
  const pending = new Map();
  let rest = '';
  output.setEncoding('utf8').on('data', (text) => {
    const messages = (rest + text).split('\0');
    rest = messages.pop() ?? '';
    for (const message of messages.map((json) => JSON.parse(json))) {
      pending.get(message.id)?.(message);
    }
  });
  /**
   * @param {string} method
   * @param {object} params
   * @param {string} [sessionId]
   * @returns {Promise<any>}
   */
  return async (method, params, sessionId) => {
    const id = pending.size + 1;
    const response = new Promise((resolve) => pending.set(id, resolve));
    input.write(`${JSON.stringify({ id, method, params, sessionId })}\0`);
    const { result, error } = /** @type {any} */ (await response);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  };
}
