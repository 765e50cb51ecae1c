import { existsSync, readFileSync } from 'node:fs';
import { demoFilePath } from '../../shared/standalone/demo-file.js';
import type { Demo } from '../../shared/standalone/demo-file.js';
import type { Catalogue } from './catalogue.js';
import type { LoadOptions } from './options.js';
import { rowsMaxOf } from './scenario.js';
import { createServiceClient } from './service-client.js';
import type { ServiceClient } from './service-client.js';

/** Where the load goes, and what it may name there. */
export interface FoundService {
  baseUrl: string;
  catalogue: Catalogue;
  client: ServiceClient;
}

/** What the command line lacks, found only once it was known what is there. */
export class WrongUsage extends Error {}

/**
 * The service that was named, or the running `npm start`. It is asked what it has, except for the demo's load shop,
 * which is on file.
 *
 * @throws with a sentence for the person who typed the command
 */
export async function findService(
  options: LoadOptions,
  dataFolder: string,
  say: (line: string) => void,
): Promise<FoundService> {
  // Not read where nothing is wanted of it: it may be another user's.
  const demo = options.url !== undefined && options.key !== undefined ? undefined : readDemo(dataFolder);
  // Another key is another shop's.
  const known = options.key === undefined && (options.url ?? demo?.baseUrl) === demo?.baseUrl ? demo : undefined;
  const baseUrl = options.url ?? demo?.baseUrl;
  const key = options.key ?? known?.loadKey;
  if (baseUrl === undefined)
    throw new Error(`There is no ${demoFilePath(dataFolder)}: npm start, or give --url and --key.`);
  if (key === undefined) throw new WrongUsage('A key is needed: --key, or LOAD_KEY in the environment.');
  const client = createServiceClient({ baseUrl, key, say });
  try {
    const materialIds =
      known?.load.materialIds.slice(0, options.materialsMax) ?? (await client.listMaterials(options.materialsMax));
    if (materialIds.length === 0)
      throw new Error('The shop has no virtual material: npm run manage -- materials create.');
    const locationIds = options.locationIds ?? known?.load.locationIds ?? (await locationsOf(client, materialIds));
    const rows = rowsMaxOf(options.scenario);
    if (locationIds.length < rows) {
      throw new Error(
        `The scenario has ${rows} rows a request, each at a location of its own; known are ${locationIds.length}: --locations.`,
      );
    }
    return { baseUrl, catalogue: { key, materialIds, locationIds }, client };
  } catch (error) {
    await client.close();
    throw error;
  }
}

async function locationsOf(client: ServiceClient, [first = '']: readonly string[]): Promise<string[]> {
  return [...(await client.readLevels(first)).keys()];
}

function readDemo(dataFolder: string): Demo | undefined {
  const path = demoFilePath(dataFolder);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Demo;
  } catch (cause) {
    throw new Error(
      `${path} cannot be read (${(cause as Error).message}): restart npm start, or give --url and --key.`,
      {
        cause,
      },
    );
  }
}
