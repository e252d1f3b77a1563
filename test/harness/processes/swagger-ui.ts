import type { Chromium } from './chromium.js';

/**
 * Opens an operation, and waits until Swagger UI has resolved its references. A click on Execute
 * before that has no effect.
 */
export async function openOperation(browser: Chromium, operation: string): Promise<void> {
  await browser.click(`${operation} .opblock-summary-control`);
  await browser.waitFor(`${operation} .execute`);
  await browser.waitFor(`${operation} .responses-wrapper .model-example .highlight-code`);
}
