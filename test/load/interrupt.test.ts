import { expect } from 'chai';
import { createInterrupt } from './interrupt.js';

describe('a Ctrl-C at npm run load', () => {
  it('ends the load once, though npm passes it on as well; only a later one ends the command without its report', () => {
    const said: string[] = [];
    let atMs = 1_000;
    const interrupt = createInterrupt({ stop: () => said.push('stop'), exit: () => said.push('exit') }, () => atMs);
    interrupt();
    for (const afterMs of [0, 3, 400]) {
      atMs = 1_000 + afterMs;
      interrupt();
    }
    expect(said).to.deep.equal(['stop']);
    atMs = 1_600;
    interrupt();
    expect(said).to.deep.equal(['stop', 'exit']);
  });
});
