import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import type { Database } from '../../shared/database/connect.js';
import { demoFilePath } from '../../shared/standalone/demo-file.js';
import { rememberOpen } from '../support/processes/cleanup.js';
import { connectForTest } from '../support/database/database.js';
import { watchRefusals } from '../support/http/refusals.js';
import { startService } from '../support/processes/service.js';
import type { Service } from '../support/processes/service.js';
import { createTestShop } from '../support/shop/shop.js';
import type { TestShop } from '../support/shop/shop.js';
import { temporaryFolder } from '../support/temporary-folder.js';
import { until } from '../support/time/until.js';
import { readLoadOptions } from './options.js';
import type { LoadReport } from './run-load.js';

const command = fileURLToPath(new URL('./main.ts', import.meta.url));
const endMsMax = 50_000;
/** A file of Linux that takes nothing, as a full disk. */
const fullDisk = '/dev/full';

/** So many requests, however slow the machine is: the load would end without them only after this time. */
const atMost = (requests: number) => ['--requests', String(requests), '--seconds', '45'];

describe('npm run load', () => {
  let service: Service;
  let database: Database;
  let shop: TestShop;
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;

  before(async () => {
    folder = await temporaryFolder();
    // A service that stands still beside its load, as on a machine that is short of CPU, must not take that for slow
    // clients.
    const patient = { HEADERS_TIMEOUT_MS: '60000', REQUEST_TIMEOUT_MS: '60000' };
    service = await startService({ apiEnv: patient });
    database = connectForTest(service.databaseUrl, { poolMax: 1 });
    shop = await createTestShop(database, { materials: 20, locations: 3 });
  });
  after(async () => {
    await database.destroy();
    await service.stop();
    await folder.remove();
  });

  /** The address, the key and the locations of the shop, which nothing was booked at yet. */
  const target = () => {
    const { writeKey, locationIds } = shop;
    return ['--url', service.baseUrls[0] ?? '', '--key', writeKey, '--locations', locationIds.join(',')];
  };
  const startLoad = (...args: string[]) => startCommand([...target(), ...args], folder.path);

  it('changes levels, finds what was acknowledged in them, and writes its figures and a page that loads nothing', async () => {
    const scenario = join(folder.path, 'scenario.json');
    writeFileSync(
      scenario,
      JSON.stringify({
        title: 'a <mix> of all',
        pick: 'zipf',
        mix: [
          { ask: 'adjust', weight: 3, rows: 2 },
          { ask: 'adjust', weight: 1, rows: 3 },
          { ask: 'levels', weight: 1 },
          { ask: 'material', weight: 1 },
          { ask: 'list', weight: 1, pageSize: 5, query: 'sortBy=sku' },
        ],
      }),
    );
    const expectNoRefusal = watchRefusals();
    const [json, html] = [join(folder.path, 'load.json'), join(folder.path, 'load.html')];
    const ended = await startLoad(
      '--scenario',
      scenario,
      '--connections',
      '1..8',
      ...atMost(400),
      '--json',
      json,
      '--html',
      html,
    ).ended;
    expect(ended.code, ended.text).to.equal(0);

    const report = JSON.parse(readFileSync(json, 'utf8')) as LoadReport;
    const { '200': executed = 0, '503': refused = 0, ...others } = report.summary.statuses;
    expect(others).to.deep.equal({});
    expectNoRefusal(refused);
    expect(executed + refused).to.equal(400);
    expect(report.summary.sent).to.equal(400);
    expect(report.levels).to.include({ wrong: 0, open: 0 });
    // Asked of the database itself, so that the check does not merely agree with itself.
    const { sum } = (await database('levels').where({ shop_id: shop.shopId }).sum('quantity as sum').first()) as {
      sum: string;
    };
    expect(Number(sum)).to.equal(report.levels?.acknowledged);
    expect(Number(sum)).to.be.greaterThan(400);

    const page = readFileSync(html, 'utf8');
    expect(page).to.include("default-src 'none'").and.include('a &lt;mix&gt; of all').and.include('uPlot');
    expect(page).not.to.match(
      /\b(src|href|action|srcset)\s*=\s*["']|@import|\burl\(|\bimport\(|\bfetch\(|XMLHttpRequest/,
    );
  });

  it('reads no demo where address and key are given, whoever it is of and whatever is in it', async () => {
    const other = join(folder.path, 'other');
    mkdirSync(other);
    writeFileSync(demoFilePath(other), 'not yet whole');
    const ended = await startCommand([...target(), ...atMost(1)], other).ended;
    expect(ended.code, ended.text).to.equal(0);
    const wanting = await startCommand([], other).ended;
    expect(wanting.code, wanting.text).to.equal(69);
    expect(wanting.text)
      .to.include(`${demoFilePath(other)} cannot be read`)
      .and.include('--url and --key');
  });

  it('puts the figures alone on stdout for --json -, and the table beside them', async () => {
    const ended = await startLoad(...atMost(20), '--json', '-').ended;
    expect(ended.code, ended.text).to.equal(0);
    expect((JSON.parse(ended.stdout) as LoadReport).summary.sent).to.equal(20);
    expect(ended.text).to.include('20 × 200');
  });

  it('says which level is wrong, and ends with 1, where one was changed behind its back', async () => {
    const load = startLoad('--scenario', 'HOT', '--connections', '2', '--seconds', '600');
    await until(() => load.text().includes('2 connections'), {
      deadlineMs: endMsMax,
      what: () => `progress: ${load.text()}`,
    });
    const level = { shop_id: shop.shopId, material_id: shop.materialIds[0], location_id: shop.locationIds[0] };
    // Under the material's lock: the worker writes the level that it read under that lock, and would undo this change.
    const { location_id: _, ...material } = level;
    await database.transaction(async (transaction) => {
      await transaction('stock').where(material).forUpdate().first();
      await transaction('levels').where(level).increment('quantity', -1);
    });
    load.interrupt();
    const ended = await load.ended;
    expect(ended.code, ended.text).to.equal(1);
    expect(ended.text).to.match(
      new RegExp(`WRONG: the level of ${level.material_id ?? ''} at ${level.location_id ?? ''} is \\d`),
    );
  });

  it('ends with 2 where a threshold is missed, and names what it saw', async () => {
    const met = await startLoad(...atMost(50), '--must', 'status200>=50', '--must', 'errors<=0').ended;
    expect(met.code, met.text).to.equal(0);
    const bounds = ['errors<=0', 'p50<0.0001', 'refusedP99<1'].flatMap((bound) => ['--must', bound]);
    const missed = await startLoad(...atMost(50), ...bounds).ended;
    expect(missed.code, missed.text).to.equal(2);
    expect(missed.text)
      .to.match(/met +errors<=0 +\(0\)/)
      .and.match(/MISSED +p50<0\.0001 +\([\d.]+\)/)
      // Nothing was refused, so nothing was measured.
      .and.match(/MISSED +refusedP99<1/);
  });

  it('ends with 1 where not one request succeeded, and counts what was said instead', async () => {
    const ended = await startLoad('--scenario', 'MIXED', '--key', shop.readKey, ...atMost(50), '--must', 'status403<=0')
      .ended;
    // The reads of MIXED succeed with a read key; its adjustments are refused, and so nothing may have moved.
    expect(ended.code, ended.text).to.equal(2);
    expect(ended.text)
      .to.match(/\d+ × 403/)
      .and.match(/0 units acknowledged, 0 of unknown outcome; 0 wrong/);
    const refused = await startLoad('--scenario', 'HOT', '--key', shop.readKey, ...atMost(20)).ended;
    expect(refused.code, refused.text).to.equal(1);
    expect(refused.text).to.include('not one request succeeded').and.include('20 × 403');
  });

  it('names every fault of a scenario file, of a threshold, of a number and of a path, and ends with 64', async () => {
    const path = join(folder.path, 'bad.json');
    writeFileSync(
      path,
      JSON.stringify({
        pick: 'best',
        mix: [
          { ask: 'adjust', weight: 1 },
          { ask: 'list', weight: 0, pageSize: 5, rows: 1 },
        ],
      }),
    );
    const bad = await startLoad('--scenario', path).ended;
    expect(bad.code).to.equal(64);
    expect(bad.text)
      .to.include('/pick: Must be one of first, uniform, zipf.')
      .and.include('/mix/0/rows: Is required.')
      .and.include('/mix/1/rows: Is not a known field here.')
      .and.include('/mix/1/weight: Must be > 0.');
    const others = [
      ['--must', 'p98<3'],
      ['--must', 'p99'],
      ['--must', 'status999<=0'],
      ['--rate', '5..'],
      ['--connections', '0'],
      ['--seconds', '1.5'],
      ['--scenario', 'nowhere.json'],
      ['--url', 'here'],
      ['--json', join(folder.path, 'nowhere', 'load.json')],
      ['--html', join(folder.path, 'nowhere', 'load.html')],
      // With these, the whole load would otherwise have been for nothing.
      ['--must', 'constructor<1'],
      ['--json', folder.path],
      ['--html', ''],
      ['--html', '-'],
      ['--json', join(folder.path, 'same'), '--html', join(folder.path, 'same')],
      ['--locations', '70001,,70002'],
      ['--locations', '70001, 70001'],
    ];
    for (const args of others) expect(() => readLoadOptions(args, {}), args.join(' ')).to.throw(args[0] ?? '');
  });

  it('takes an address with or without a slash at its end for the same', () => {
    for (const [given, meant] of [
      ['http://h:3000', 'http://h:3000/v1'],
      ['http://h:3000/', 'http://h:3000/v1'],
      ['http://h:3000/v1/', 'http://h:3000/v1'],
      ['http://h/inventory/v1//', 'http://h/inventory/v1'],
    ] as const) {
      expect(readLoadOptions(['--url', given], {}).url, given).to.equal(meant);
    }
  });

  if (existsSync(fullDisk)) {
    it('ends with 74 where its figures or its table could not be written', async () => {
      const full = openSync(fullDisk, 'w');
      for (const more of [['--json', '-'], []]) {
        const ended = await startCommand([...target(), ...more, ...atMost(1)], folder.path, full).ended;
        expect(ended.text).to.include('The answer could not be written: ENOSPC');
        expect(ended.code, ended.text).to.equal(74);
      }
      closeSync(full);
    });
  }

  // A container may have none.
  if (Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ address }) => address === '::1'))) {
    it('loads a service at an address of IPv6', async () => {
      const { port } = new URL(service.baseUrls[0] ?? '');
      const through = createServer((client) => {
        const onward = connect(Number(port), '127.0.0.1');
        for (const socket of [client, onward]) socket.on('error', () => undefined);
        client.pipe(onward).pipe(client);
      });
      await new Promise<void>((resolve) => through.listen(0, '::1', resolve));
      const url = `http://[::1]:${(through.address() as AddressInfo).port}/v1`;
      const ended = await startLoad('--url', url, ...atMost(20)).ended;
      through.close();
      expect(ended.code, ended.text).to.equal(0);
      expect(ended.text).to.include('20 × 200');
    });
  }

  it('ends with 64 where no key is known for the service', async () => {
    const ended = await startCommand(['--url', 'http://127.0.0.1:1/v1'], folder.path).ended;
    expect(ended.code, ended.text).to.equal(64);
    expect(ended.text).to.include('A key is needed');
  });

  it('ends with 69 where no service is', async () => {
    const ended = await startCommand(['--url', 'http://127.0.0.1:1/v1', '--key', 'none'], folder.path).ended;
    expect(ended.code, ended.text).to.equal(69);
    expect(ended.text).to.include('No answer from http://127.0.0.1:1/v1').and.include('ECONNREFUSED');
  });
});

interface Ended {
  code: number | null;
  /** Both streams. */
  text: string;
  stdout: string;
}

/** @param dataFolder without a demo, whatever this machine runs */
function startCommand(args: string[], dataFolder: string, output: 'pipe' | number = 'pipe') {
  const child = spawn(process.execPath, ['--import', 'tsx', command, ...args], {
    env: { PATH: process.env.PATH, DATA_DIR: dataFolder },
    stdio: ['ignore', output, 'pipe'],
  });
  let [text, stdout] = ['', ''];
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => (text += chunk.toString()));
  child.stdout?.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, text, stdout })));
  const closeNow = () => void child.kill('SIGKILL');
  const forget = rememberOpen({ name: 'npm run load', forWholeRun: false, close: async () => closeNow(), closeNow });
  void ended.then(forget);
  return { ended, text: () => text, interrupt: () => child.kill('SIGINT') };
}
