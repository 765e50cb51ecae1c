import { expect } from 'chai';
import type { Browser, Page } from 'playwright-core';
import { findChromium, startChromium } from '../../support/browser.js';
import { useHttpService } from '../../support/http/http-service.js';
import { request } from '../../support/http/http.js';
import { inventoryPath } from '../../support/http/material-paths.js';
import { startPrefixProxy } from '../../support/http/prefix-proxy.js';
import { createReferenceShop, waxBlendId } from '../../support/http/reference-shop.js';

const stepMsMax = 30_000;
const chromium = findChromium();

interface Seen {
  hosts: Set<string>;
  /** Errors of the console, violations of the page's policy among them. */
  errors: string[];
}

async function openDocs(browser: Browser, address: string): Promise<{ page: Page; seen: Seen }> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1600 } });
  page.setDefaultTimeout(stepMsMax);
  const seen: Seen = { hosts: new Set(), errors: [] };
  page.on('request', (sent) => {
    if (!sent.url().startsWith('data:')) seen.hosts.add(new URL(sent.url()).origin);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') seen.errors.push(message.text());
  });
  page.on('pageerror', (error) => seen.errors.push(error.message));
  await page.goto(`${address}/docs`);
  return { page, seen };
}

/** What a person does who has a key and wants to see a batch at work. */
async function tryBatch(page: Page, key: string, body: object): Promise<{ status: string; reply: unknown }> {
  await page.locator('button.authorize').first().click();
  await page.locator('.auth-container input').fill(key);
  await page.locator('.auth-btn-wrapper button.authorize').click();
  await page.locator('.auth-btn-wrapper button.btn-done').click();
  const operation = page.locator('#operations-Inventory-adjustInventory');
  await operation.locator('.opblock-summary-control').click();
  await operation.locator('tr[data-param-name="variantId"] input').fill(waxBlendId);
  await operation.locator('tr[data-param-name="Idempotency-Key"] input').fill('tried-in-a-browser');
  await operation.locator('textarea.body-param__text').fill(JSON.stringify(body));
  await operation.locator('button.execute').click();
  const live = operation.locator('.live-responses-table');
  const status = await live.locator('tbody td.response-col_status').first().innerText();
  const reply: unknown = JSON.parse(await live.locator('.highlight-code code').first().innerText());
  // For whoever wants to look: SCREENSHOT=/tmp/docs.png
  if (process.env.SCREENSHOT !== undefined) await page.screenshot({ path: process.env.SCREENSHOT });
  return { status, reply };
}

describe('/docs in a browser', () => {
  const http = useHttpService();

  const whatItDoes = 'takes a key, sends a PATCH and shows the results of its rows, and calls no other host';

  it(whatItDoes, () => tryDocs(new URL(http.baseUrl).origin));

  it(`${whatItDoes}, also behind a proxy that serves it under a prefix`, async () => {
    const proxy = await startPrefixProxy(http.port, '/rm');
    try {
      await tryDocs(proxy.url);
    } finally {
      await proxy.close();
    }
  });

  async function tryDocs(address: string): Promise<void> {
    if (chromium === undefined) {
      console.log('      not run: no Chromium on this machine (PATH, CHROMIUM_PATH)');
      return;
    }
    const { writeKey } = await createReferenceShop(http.database);
    const { origin } = new URL(address);
    const browser = await startChromium(chromium);
    try {
      const { page, seen } = await openDocs(browser, address);
      const updates = [
        { locationId: '70001', delta: 7.5 },
        { locationId: '99', delta: 1 },
      ];
      const { status, reply } = await tryBatch(page, writeKey, { updates });
      expect(status).to.match(/^200\b/);
      expect(reply).to.have.deep.nested.property('data.results', [
        { index: 0, ok: true, id: waxBlendId },
        { index: 1, ok: false, error: { code: 'NOT_FOUND', message: 'The shop has no location 99.' } },
      ]);
      const levels = await request(http.baseUrl, { path: inventoryPath(waxBlendId), key: writeKey });
      expect(levels.body).to.have.nested.property('data.totalQuantity', 7.5);
      expect([...seen.hosts]).to.deep.equal([origin]);
      expect(seen.errors).to.deep.equal([]);
    } finally {
      await browser.close();
    }
  }
});
