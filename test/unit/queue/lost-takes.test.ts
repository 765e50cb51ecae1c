import { expect } from 'chai';
import { createLostTakes } from '../../../shared/queue/lost-takes.js';

describe('takes whose answers were lost', () => {
  let nowMs: number;
  beforeEach(() => (nowMs = 0));

  it('are freed until Redis has freed them once, however long it is away, and for six seconds more', () => {
    const takes = createLostTakes(() => nowMs);
    takes.add('one');
    nowMs = 60_000;
    expect(takes.tokens()).to.deep.equal(['one']);
    takes.freed(['one']);
    nowMs += 3_000;
    takes.add('two');
    takes.freed(takes.tokens());
    nowMs += 3_000;
    expect(takes.tokens()).to.deep.equal(['one', 'two']);
    nowMs += 1;
    expect(takes.tokens()).to.deep.equal(['two']);
    nowMs += 3_000;
    expect(takes.tokens()).to.deep.equal([]);
    takes.freed(['one']);
    expect(takes.tokens(), 'one that was forgotten').to.deep.equal([]);
  });

  it('are the last hundred', () => {
    const takes = createLostTakes(() => nowMs);
    for (let take = 1; take <= 102; take += 1) takes.add(String(take));
    expect(takes.tokens()).to.have.length(100);
    expect(takes.tokens()).to.include('3').and.to.include('102').and.not.to.include('2');
  });
});
