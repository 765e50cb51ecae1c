import type { ChildProcess } from 'node:child_process';
import { expect } from 'chai';
import { createLogger } from '../../../shared/runtime/logger.js';
import { createShutdown } from '../../../shared/runtime/shutdown.js';
import { runShipped, shipped } from '../../support/processes/run-shipped.js';

const pressEveryMs = 100;

type Line = { msg: string } & Record<string, unknown>;

function createRecorder() {
  const lines: Line[] = [];
  const destination = { write: (text: string) => void lines.push(JSON.parse(text) as Line) };
  return { lines, logger: createLogger({ name: 'test', level: 'debug', destination }) };
}

/**
 * Runs the body in a process with a listening `shutdown`, calls `onLine` for each line it logs, and gives how it ended.
 */
async function runProcess(body: string, onLine: (line: Line, child: ChildProcess) => void = () => undefined) {
  const script = `
    import { createLogger } from '${shipped('shared/runtime/logger.js')}';
    import { createShutdown } from '${shipped('shared/runtime/shutdown.js')}';
    const logger = createLogger({ name: 'child', level: 'debug' });
    const create = (forceMs) => {
      const shutdown = createShutdown({ logger, forceMs });
      shutdown.listen();
      return shutdown;
    };
    const stayOpen = () => { const timer = setInterval(() => {}, 1000); return () => clearInterval(timer); };
    ${body}`;
  const lines: Line[] = [];
  const { code, signal, stderr } = await runShipped(script, {
    onLine: (text, child) => {
      const line = JSON.parse(text) as Line;
      lines.push(line);
      onLine(line, child);
    },
  });
  const messages = lines.map((line) => line.msg);
  /** Shows all that was said if the process ended in another way. */
  const expectCode = (expected: number) => {
    expect({ code, signal }, `${messages.join(', ')}\n${stderr}`).to.deep.equal({ code: expected, signal: null });
  };
  return { expectCode, lines, messages };
}

const stopWhenReady = (name: NodeJS.Signals) => (line: Line, child: ChildProcess) => {
  if (line.msg === 'ready') child.kill(name);
};

describe('shutdown', () => {
  it('closes in reverse, each before the next', async () => {
    const { logger } = createRecorder();
    const shutdown = createShutdown({ logger, forceMs: 60_000 });
    const order: string[] = [];
    for (const name of ['database', 'redis', 'server']) {
      shutdown.register(name, async () => {
        order.push(`${name} begins`);
        await new Promise(setImmediate);
        order.push(`${name} ends`);
      });
    }
    await shutdown.run('test');
    expect(order).to.deep.equal([
      'server begins',
      'server ends',
      'redis begins',
      'redis ends',
      'database begins',
      'database ends',
    ]);
  });

  it('an error in one closer is logged, and the others still run', async () => {
    const { logger, lines } = createRecorder();
    const shutdown = createShutdown({ logger, forceMs: 60_000 });
    const closed: string[] = [];
    shutdown.register('first', () => closed.push('first'));
    shutdown.register('throws', () => {
      throw new Error('sync');
    });
    shutdown.register('rejects', () => Promise.reject(new Error('async')));
    await shutdown.run('test');
    expect(closed).to.deep.equal(['first']);
    expect(lines.filter((line) => line.msg === 'could not be closed').map((line) => line.closer)).to.deep.equal([
      'rejects',
      'throws',
    ]);
  });

  it('closes once, however often it is asked, and every caller waits for the end', async () => {
    const { logger } = createRecorder();
    const shutdown = createShutdown({ logger, forceMs: 60_000 });
    let closed = 0;
    shutdown.register('one', async () => {
      await new Promise(setImmediate);
      closed += 1;
    });
    void shutdown.run('first');
    await shutdown.run('second');
    expect(closed).to.equal(1);
  });

  it('what is opened while the process ends is closed as well', async () => {
    const { logger } = createRecorder();
    const shutdown = createShutdown({ logger, forceMs: 60_000 });
    const closed: string[] = [];
    shutdown.register('early', () => {
      shutdown.register('during', () => closed.push('during'));
    });
    await shutdown.run('test');
    shutdown.register('after', () => closed.push('after'));
    await shutdown.run('again');
    expect(closed).to.deep.equal(['during', 'after']);
  });

  it('of a start that is broken off waits for nothing that was being opened, and is no fault', async () => {
    const ended = await runProcess(
      `
      const shutdown = createShutdown({ logger, forceMs: 20_000 });
      shutdown.listen({ untilStarted: true });
      let breakOff;
      shutdown.register('redis', () => breakOff(new Error('Connection is closed.')));
      stayOpen();
      logger.info('ready');
      await new Promise((_, reject) => { breakOff = reject; });`,
      stopWhenReady('SIGTERM'),
    );
    ended.expectCode(0);
    expect(ended.messages.at(-1)).to.equal('closed');
    expect(ended.messages).to.not.include('a fault that nobody caught');
  });

  it('after the start is by itself again, and a fault in it is one', async () => {
    const ended = await runProcess(
      `
      const shutdown = createShutdown({ logger, forceMs: 20_000 });
      shutdown.listen({ untilStarted: true });
      const close = stayOpen();
      shutdown.register('timer', () => { close(); setImmediate(() => { throw new Error('the fault'); }); });
      shutdown.started();
      logger.info('ready');`,
      stopWhenReady('SIGTERM'),
    );
    ended.expectCode(70);
    expect(ended.messages).to.include('a fault that nobody caught');
  });

  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    it(`on ${signal} the process closes and then ends by itself with 0`, async () => {
      const body = `create(20_000).register('timer', stayOpen()); logger.info('ready');`;
      const ended = await runProcess(body, stopWhenReady(signal));
      ended.expectCode(0);
      expect(ended.lines.find((line) => line.msg === 'closing')).to.include({ reason: signal });
      expect(ended.messages.at(-1)).to.equal('closed');
    });
  }

  it('the echo of a signal does not cut the end short (npm passes on what the terminal has sent already)', async () => {
    // It is heard as late as an echo may be, and no later where the machine stands still meanwhile.
    const body = `
      let [signals, nowMs] = [0, 0];
      performance.now = () => nowMs;
      create(20_000).register('timer', async () => {
        nowMs = 500;
        process.kill(process.pid, 'SIGINT');
        while (signals < 2) await new Promise((resolve) => setTimeout(resolve, 1));
        logger.info('drained');
        close();
      });
      const close = stayOpen();
      process.on('SIGINT', () => { signals += 1; });
      logger.info('ready');`;
    const ended = await runProcess(body, stopWhenReady('SIGINT'));
    expect(ended.messages).to.include('drained');
    ended.expectCode(0);
  });

  for (const [what, first, second] of [
    ['SIGTERM from a supervisor after the terminal’s SIGINT', 'SIGINT', 'SIGTERM'],
    ['the second SIGHUP of a terminal that closes', 'SIGHUP', 'SIGHUP'],
  ] as const) {
    it(`${what} is not a second wish`, async () => {
      // 600 ms: past the time in which a second signal could be taken for an echo.
      const body = `
        let close;
        create(20_000).register('server', () => new Promise((resolve) => { close = resolve; }));
        const open = stayOpen();
        process.once('${first}', () => setTimeout(() => {
          process.once('${second}', () => { logger.info('drained'); open(); close(); });
          process.kill(process.pid, '${second}');
        }, 600));
        logger.info('ready');`;
      const ended = await runProcess(body, stopWhenReady(first));
      expect(ended.messages).to.include('drained');
      ended.expectCode(0);
    });
  }

  for (const [signal, code] of [
    ['SIGINT', 130],
    ['SIGTERM', 143],
  ] as const) {
    it(`a second ${signal} ends a process that is still closing, at once, with ${code}`, async () => {
      const body = `create(20_000).register('never', () => new Promise(() => {})); stayOpen(); logger.info('ready');`;
      let pressing: NodeJS.Timeout | undefined;
      const ended = await runProcess(body, (line, child) => {
        if (line.msg !== 'ready') return;
        child.kill(signal);
        pressing = setInterval(() => {
          child.kill(signal);
        }, pressEveryMs);
      });
      clearInterval(pressing);
      ended.expectCode(code);
    });
  }

  it('a closer that hangs is named, and the process forced to exit 1, even if nothing else keeps it alive', async () => {
    const body = `
      const shutdown = create(300);
      shutdown.register('database', () => {});
      shutdown.register('redis', () => {});
      shutdown.register('queue', () => new Promise(() => {}));
      shutdown.register('server', () => {});
      shutdown.run('test');`;
    const ended = await runProcess(body);
    ended.expectCode(1);
    expect(ended.lines.at(-1)).to.include({ closer: 'queue', msg: 'queue did not close: forced to exit' });
    expect(ended.lines.at(-1)!.notClosed, 'in the order of their turns').to.deep.equal(['redis', 'database']);
  });

  it('an end that was not a process’s own leaves no timer behind that could force it later', async () => {
    const ended = await runProcess(`
      const part = createShutdown({ logger, forceMs: 200 });
      await part.run('a part of the process');
      setTimeout(() => logger.info('still here'), 500);`);
    expect(ended.messages.at(-1)).to.equal('still here');
    ended.expectCode(0);
  });

  it('something that no closer knew of and that stays open is reported, and the process forced to exit 1', async () => {
    const ended = await runProcess(`
      stayOpen();
      const shutdown = create(300);
      shutdown.register('database', () => {});
      shutdown.run('test');`);
    ended.expectCode(1);
    expect(ended.lines.at(-1)!.msg).to.equal('all was closed, but something was left open: forced to exit');
    expect(ended.lines.at(-1)!).not.to.have.property('closer');
    expect(ended.lines.at(-1)!.stillOpen).to.include('Timeout');
  });

  it('an address that cannot be listened on is no fault of ours: it is logged as fatal, and the process exits 69', async () => {
    const ended = await runProcess(`
      const { createServer } = await import('node:net');
      create(20_000).register('database', () => logger.info('database closed'));
      const taken = createServer().listen(0, '127.0.0.1', () => createServer().listen(taken.address().port, '127.0.0.1'));`);
    ended.expectCode(69);
    expect(ended.messages).to.include.members(['the address cannot be listened on', 'database closed']);
    expect(ended.messages).to.not.include('a fault that nobody caught');
    expect(ended.lines.find((line) => line.msg === 'closing')).to.include({ reason: 'it cannot start' });
    expect(JSON.stringify(ended.lines)).to.not.match(/uncaughtException|unhandledRejection/);
  });

  it('nor is one whose host has a name that leads nowhere', async () => {
    const ended = await runProcess(`
      const { createServer } = await import('node:net');
      create(20_000).register('database', () => logger.info('database closed'));
      createServer().listen(0, 'nowhere.invalid');`);
    ended.expectCode(69);
    expect(ended.messages).to.include.members(['the address cannot be listened on', 'database closed']);
  });

  for (const [title, fault] of [
    ['an exception that nobody caught', `setImmediate(() => { throw new Error('the fault'); });`],
    ['a rejection that nobody handled', `Promise.reject(new Error('the fault'));`],
  ] as const) {
    it(`${title} is logged as fatal, everything is closed, and the process exits 70`, async () => {
      const ended = await runProcess(`
        stayOpen();
        create(20_000).register('database', () => logger.info('database closed'));
        ${fault}`);
      const fatal = ended.lines.find((line) => line.level === 60);
      ended.expectCode(70);
      expect(fatal!.err).to.include({ message: 'the fault' });
      expect(ended.lines.find((line) => line.msg === 'closing')).to.include({ reason: 'a fault' });
      expect(ended.messages).to.include('database closed');
    });
  }

  it('a fault while a closer hangs still exits 70, and in time', async () => {
    const ended = await runProcess(`
      create(300).register('never', () => new Promise(() => {}));
      setImmediate(() => { throw new Error('the fault'); });`);
    ended.expectCode(70);
  });
});
