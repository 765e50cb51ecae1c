import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeWhole } from './data-folder.js';
import type { DemoAccess } from './demo-data.js';

export interface DemoAddresses {
  /** Ends with `/v1`. */
  baseUrl: string;
  docsUrl: string;
  mcpUrl: string;
  /** The API's admin port: `/metrics`, and `/queues`, which opens to `adminToken`. */
  adminUrl: string;
  adminToken: string;
  /** `/metrics` of every process, for a Prometheus. */
  metricsUrls: string[];
}

/** What `npm start` offers, as written for programs: addresses, keys, ids. */
export type Demo = DemoAddresses & DemoAccess;

/** Where programs find the running demo (platform §1): addresses, keys, ids. */
export function demoFilePath(dataFolder: string): string {
  return join(dataFolder, 'demo.json');
}

/** Gone while nothing runs: whoever waits for the file must not find yesterday's port. */
export function removeDemoFile(dataFolder: string): void {
  rmSync(demoFilePath(dataFolder), { force: true });
}

export function writeDemoFile(dataFolder: string, demo: Demo): void {
  writeWhole(demoFilePath(dataFolder), `${JSON.stringify(demo, null, 2)}\n`);
}

/** A read and a change of stock to paste into a shell, with the real key. */
export function curlLines(demo: Demo): { read: string; adjust: string } {
  const materialId = demo.virtualMaterialIds[0] ?? '';
  const body = JSON.stringify({ updates: [{ locationId: demo.locationIds[0], delta: 5 }] });
  return {
    read: `curl -s -H 'Authorization: Bearer ${demo.readKey}' '${demo.baseUrl}/raw-materials?pageSize=3'`,
    adjust:
      `curl -s -X PATCH -H 'Authorization: Bearer ${demo.writeKey}' -H 'Content-Type: application/json' ` +
      `-d '${body}' '${demo.baseUrl}/raw-materials/${materialId}/inventory'`,
  };
}
