import { execFile } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, existsSync, openSync } from 'node:fs';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { createLogger } from '../../../shared/runtime/logger.js';
import { runShipped, shipped } from '../../support/processes/run-shipped.js';

/** A logger and what it wrote. */
function createCapture(level = 'info') {
  const lines: string[] = [];
  const logger = createLogger({ name: 'api', level, destination: { write: (line) => void lines.push(line) } });
  return { logger, lines, last: () => JSON.parse(lines.at(-1)!) as Record<string, unknown> };
}

interface Line {
  n?: number;
  again?: number;
  lostCount?: number;
}

const keyId = 'rmk_0123456789ab';
const key = `${keyId}${'Z'.repeat(38)}`;

describe('logger', () => {
  it('a line has name and pid as its only standing fields', () => {
    const { logger, last } = createCapture();
    logger.info({ port: 80 }, 'listening');
    expect(last()).to.have.all.keys('level', 'time', 'pid', 'name', 'port', 'msg');
    expect(last()).to.include({ name: 'api', pid: process.pid, port: 80, msg: 'listening' });
  });

  it('what is below the level is not written', () => {
    const { logger, lines } = createCapture('warn');
    logger.info('not this');
    expect(lines).to.deep.equal([]);
  });

  const leaks: [title: string, fields: object, message: string][] = [
    ['an authorization header, at any depth', { a: { b: { req: { headers: { authorization: 'S3CRET' } } } } }, ''],
    ['a header in the spelling of its sender', { headers: { 'X-Shopify-Access-Token': 'S3CRET' } }, ''],
    ['a cookie', { headers: { cookie: 'session=S3CRET' } }, ''],
    ['a secret', { secret: 'S3CRET' }, ''],
    ['a token', { token: 'S3CRET' }, ''],
    ['a platform token', { shop: { platformToken: 'S3CRET' } }, ''],
    ['an API key in a field of its own', { apiKey: 'S3CRET' }, ''],
    ['a password that holds quotes and backslashes', { password: 'a"\\S3CRET"' }, ''],
    ['the secret of an API key in a sentence', {}, `refused rmk_0123456789abS3CRET${'Z'.repeat(32)}`],
    ['a Shopify token in a sentence', {}, 'sent shpat_S3CRET'],
    ['the password of a database address in an error', { err: new Error('postgres://me:S3CRET@db/x') }, ''],
    ['the password of a Redis address', { url: 'redis://:S3CRET@cache:6379' }, ''],
  ];
  for (const [title, fields, message] of leaks) {
    it(`never writes ${title}`, () => {
      const { logger, lines, last } = createCapture();
      logger.info(fields, message);
      logger.child(fields).info(message);
      expect(lines).to.have.length(2);
      expect(lines.join('')).to.contain('[redacted]').and.not.to.contain('S3CRET');
      expect(last()).to.be.an('object');
    });
  }

  it('says in plain words that no connection came free, for which Knex blames the program', () => {
    const { logger, lines, last } = createCapture();
    const sentence =
      'Knex: Timeout acquiring a connection. The pool is probably full. Are you missing a .transacting(trx) call?';
    logger.warn({ err: new Error(sentence, { cause: new Error('operation timed out') }) }, 'It failed');
    expect(last()).to.have.nested.property('err.message', 'no connection came free: operation timed out');
    expect(lines.join('')).to.not.contain('transacting');
  });

  it('never writes what a driver adds to an error of what was sent, also to one of several', () => {
    const { logger, last } = createCapture();
    const ofKnex = { sql: 'SELECT ?', bindings: ['S3CRET'] };
    const ofPostgres = {
      code: '23503',
      table: 'levels',
      detail: 'Key (id)=(S3CRET)',
      where: "parameters: $1 = 'S3CRET'",
    };
    const ofRedis = { command: { name: 'hello', args: ['3', 'AUTH', 'default', 'S3CRET'] } };
    for (const [added, isTold] of [
      [ofKnex, { sql: 'SELECT ?' }],
      [ofPostgres, { code: '23503', table: 'levels' }],
      [ofRedis, { command: 'hello' }],
    ] as const) {
      const error = Object.assign(new Error('It failed'), added);
      logger.warn({ err: error }, 'of one');
      expect(last().err).to.include({ message: 'It failed', ...isTold });
      expect(JSON.stringify(last())).to.not.contain('S3CRET');
      logger.warn({ err: new AggregateError([error], 'All failed') }, 'of several');
      expect(last()).to.have.nested.property('err.aggregateErrors[0].message', 'It failed');
      expect(JSON.stringify(last())).to.not.contain('S3CRET');
    }
  });

  it('says of a connection to Redis that it is lost, where ioredis names its options', () => {
    const { logger, last } = createCapture();
    const cause = new Error("Stream isn't writeable and enableOfflineQueue options is false");
    logger.warn({ err: new Error('Redis takes no writes', { cause }) }, 'It failed.');
    expect(last()).to.have.nested.property('err.message', 'Redis takes no writes: the connection to Redis is lost');
  });

  it('a key’s id stays readable, since it is what a log may hold', () => {
    const { logger, last } = createCapture();
    logger.info(`refused ${key}`);
    expect(last().msg).to.equal(`refused ${keyId}[redacted]`);
  });

  it('an ordinary line is left as it is', () => {
    const { logger, last } = createCapture();
    const fields = { url: 'https://shop.example:8080/a@b', tokens: 3, keyId, path: '/v1/raw-materials/7' };
    logger.info(fields, 'answered');
    expect(last()).to.include(fields);
  });

  it('a process that does not write to a terminal writes JSON, and loses no line when it exits at once', async () => {
    const { code, signal, stdout } = await runShipped(`
      import { createLogger } from '${shipped('shared/runtime/logger.js')}';
      const logger = createLogger({ name: 'worker', level: 'info' });
      for (let n = 0; n < 2000; n += 1) logger.info({ n }, 'a line');
      process.exit(3);`);
    expect({ code, signal }).to.deep.equal({ code: 3, signal: null });
    expect(stdout).to.have.length(2000);
    expect(JSON.parse(stdout.at(-1)!)).to.include({ n: 1999, name: 'worker' });
  });

  it('a reader that has stopped costs lines and nothing else, and is told how many once it reads again', async () => {
    const script = `
      import { createLogger } from '${shipped('shared/runtime/logger.js')}';
      import { createShutdown } from '${shipped('shared/runtime/shutdown.js')}';
      const logger = createLogger({ name: 'api', level: 'info' });
      const shutdown = createShutdown({ logger, forceMs: 20000 });
      shutdown.listen();
      for (let n = 0; n < 5000; n += 1) logger.info({ n }, 'x'.repeat(1000));
      let again = 0;
      const timer = setInterval(() => logger.info({ again: again++ }, 'and on'), 50);
      shutdown.register('the timer', () => clearInterval(timer));
      process.stderr.write('all was logged');`;
    let isFirst = true;
    const onLine = (line: string, child: ChildProcess) => {
      if (line.includes('lostCount')) child.kill('SIGTERM');
      if (!isFirst) return;
      isFirst = false;
      child.stdout?.pause();
      child.stderr?.once('data', () => child.stdout?.resume());
    };
    const { code, signal, stdout } = await runShipped(script, { onLine });
    expect({ code, signal }).to.deep.equal({ code: 0, signal: null });
    const whole = stdout.filter((line) => /^\{.*\}$/.test(line)).map((line) => JSON.parse(line) as Line);
    const told = whole.find((line) => 'lostCount' in line);
    // Some of those that came after it may have been lost as well, before the reader was there again.
    const lostAgain = whole.find((line) => 'again' in line)?.again ?? expect.fail('none came after it');
    const lost = 5_000 - whole.filter((line) => 'n' in line).length;
    expect(lost).to.be.above(0);
    expect(told).to.include({ level: 40, lostCount: lost + lostAgain });
  });

  for (const [what, level, length] of [
    ['lines as long as what the reader takes at a time', 'info', 3_950],
    ['a log of errors alone', 'error', 1_000],
  ] as const) {
    it(`a reader that is slow is told of every line that is lost: ${what}`, async () => {
      const writer = `
        import { createLogger } from '${shipped('shared/runtime/logger.js')}';
        const logger = createLogger({ name: 'api', level: '${level}' });
        let n = 0;
        const timer = setInterval(() => logger.${level}({ n: n++ }, n < 1500 ? 'x'.repeat(${String(length)}) : 'the end'), 5);`;
      // Stands still for longer than it is waited for, then takes a page now and then; then all, up to the end.
      const reader = `
        const { readSync, writeSync } = require('node:fs');
        const page = Buffer.alloc(4096);
        let text = '';
        for (let read = 1, reads = 0, isEnding = false; read > 0; reads += 1) {
          read = readSync(0, page);
          text += page.toString('latin1', 0, read);
          if (reads < 4) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, reads === 0 ? 2500 : 1200);
          if (isEnding || text.split('the end').length < 3) continue;
          isEnding = true;
          process.kill(JSON.parse(text.slice(0, text.indexOf('\\n'))).pid, 'SIGKILL');
        }
        writeSync(1, text);`;
      const { stdout } = await promisify(execFile)(
        'sh',
        ['-c', '"$0" --input-type=module --eval "$1" | "$0" --eval "$2"', process.execPath, writer, reader],
        { maxBuffer: 64 * 1_024 * 1_024 },
      );
      const lines = stdout.split('\n').filter((line) => /^\{.*\}$/.test(line));
      const whole = lines.map((line) => JSON.parse(line) as Line);
      const told = whole.reduce((sum, { lostCount = 0 }) => sum + lostCount, 0);
      const numbers = whole.flatMap(({ n }) => n ?? []);
      expect(told)
        .to.be.above(0)
        .and.equal((numbers.at(-1) ?? 0) + 1 - numbers.length);
    });
  }

  // Linux has a device that is always full.
  if (existsSync('/dev/full')) {
    it('a full disk under the log costs lines and nothing else: the process ends as it is told to', async () => {
      const script = `
        import { createLogger } from '${shipped('shared/runtime/logger.js')}';
        import { createShutdown } from '${shipped('shared/runtime/shutdown.js')}';
        const logger = createLogger({ name: 'api', level: 'debug' });
        const shutdown = createShutdown({ logger, forceMs: 5000 });
        shutdown.listen();
        const timer = setInterval(() => {}, 1000);
        shutdown.register('what is in hand', async () => {
          logger.fatal('a line that is flushed');
          await new Promise(setImmediate);
          clearInterval(timer);
          process.stderr.write('answered');
        });
        process.kill(process.pid, 'SIGTERM');`;
      const full = openSync('/dev/full', 'w');
      const { code, signal, stderr } = await runShipped(script, { stdout: full });
      closeSync(full);
      expect({ code, signal, stderr }).to.deep.equal({ code: 0, signal: null, stderr: 'answered' });
    });
  }
});
