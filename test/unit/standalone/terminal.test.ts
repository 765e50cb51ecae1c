import { EventEmitter } from 'node:events';
import { expect } from 'chai';
import { createTerminal } from '../../../shared/standalone/terminal.js';

const warning = '{"level":40,"time":1,"name":"api","msg":"slow"}';

describe('what npm start prints', () => {
  /** What stands for stdout and stderr. */
  function streamOf(isTTY: boolean) {
    let text = '';
    const stream = Object.assign(new EventEmitter(), { isTTY, write: (piece: string) => (text += piece) });
    return { stream: stream as unknown as NodeJS.WriteStream, text: () => text };
  }

  function openTerminal(isTTY: boolean) {
    const [out, err] = [streamOf(isTTY), streamOf(isTTY)];
    return { out, err, terminal: createTerminal({ out: out.stream, err: err.stream }) };
  }

  it('of a process is JSON as it is into a pipe, and readable on a terminal; anything else has its name', () => {
    for (const [isTTY, wanted] of [
      [false, `${warning}\n[api] plain\n`],
      [true, /^\[api\] \[.*WARN.*slow.*\n\[api\] plain\n$/],
    ] as const) {
      const { out, terminal } = openTerminal(isTTY);
      for (const line of [warning, 'plain']) terminal.printOf('api')(line);
      if (typeof wanted === 'string') expect(out.text()).to.equal(wanted);
      else expect(out.text()).to.match(wanted).and.not.contain('"level"');
    }
  });

  it('has how many seconds it has run for, and complaints go to stderr', () => {
    const { out, err, terminal } = openTerminal(false);
    terminal.say('there');
    terminal.complain('no good');
    expect(out.text()).to.match(/^ {2}\d\.\d s {2}there\n$/);
    expect(err.text()).to.equal('no good\n');
  });

  it('ends nothing where its reader has gone away', () => {
    const { out, err } = openTerminal(false);
    for (const { stream } of [out, err]) expect(() => stream.emit('error', new Error('EPIPE'))).to.not.throw();
  });
});
