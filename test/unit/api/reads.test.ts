import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import { createReads } from '../../../api/reads.js';
import type { Reads } from '../../../api/reads.js';
import type { Database } from '../../../shared/database/connect.js';
import type { Result } from '../../../shared/domain/errors.js';
import { timerCount } from '../../support/time/timer-count.js';

const database = {} as unknown as Database;

describe('the turns of what shops read', () => {
  let reads: Reads;
  /** Of each question that was begun: its name, and what ends it. */
  let begun: { name: string; end: () => void }[];
  const open = (connectionsMax: number, waitMsMax = 60_000) => {
    begun = [];
    reads = createReads({ database, connectionsMax, waitMsMax });
  };
  const questionOf = (name: string) => async (given: Database) => {
    expect(given).to.equal(database);
    await new Promise<void>((resolve) => begun.push({ name, end: resolve }));
    return name;
  };
  const ask = (shopId: number, name: string): Promise<Result<string>> => reads.ask(shopId, questionOf(name));
  const askAlone = (shopId: number, name: string): Promise<Result<string>> => reads.askAlone(shopId, questionOf(name));
  const names = () => begun.map(({ name }) => name);
  /** Ends the question of this name, and lets what takes its place begin. */
  const end = async (name: string) => {
    begun.find((one) => one.name === name)?.end();
    await turn();
  };

  it('leave two connections to the others, however much one asks: one of them for what is asked alone', async () => {
    open(7);
    for (let index = 0; index < 9; index += 1) void ask(1, `one ${index}`);
    await turn();
    expect(names()).to.have.length(5);
    expect([reads.waiting(), reads.waitingForConnection()]).to.deep.equal([4, 0]);
    for (let index = 0; index < 9; index += 1) void ask(2, `other ${index}`);
    for (const name of ['large 0', 'large 1']) void askAlone(2, name);
    await turn();
    expect(names().slice(5)).to.deep.equal(['other 0', 'large 0']);
    expect([reads.waiting(), reads.waitingForConnection()]).to.deep.equal([4 + 8 + 1, 4 + 8]);
  });

  it('are two at once where there are two connections, so that one shop does not keep another waiting', async () => {
    open(2);
    for (const name of ['slow 0', 'slow 1']) void ask(1, name);
    void ask(2, 'other');
    await turn();
    expect(names()).to.deep.equal(['slow 0', 'other']);
  });

  it('are no more than the two connections there are, also where one shop asks for something alone', async () => {
    open(2);
    void ask(1, 'slow');
    for (const name of ['large 0', 'large 1']) void askAlone(1, name);
    for (const name of ['b1', 'b2']) void ask(2, name);
    await turn();
    expect(names()).to.deep.equal(['slow', 'b1']);
    await end('slow');
    await end('b1');
    expect(names().slice(2)).to.have.members(['large 0', 'b2']);
    await end('large 0');
    expect(names().slice(4)).to.deep.equal(['large 1']);
  });

  it('go round: a shop that comes late does not wait behind all that another has asked', async () => {
    open(3);
    const shops = [
      [1, 'a1', 'a2', 'a3'],
      [2, 'b1', 'b2', 'b3'],
      [3, 'c1', 'c2', 'c3'],
      [4, 'd1'],
    ] as const;
    for (const [shopId, ...questions] of shops) for (const name of questions) void ask(shopId, name);
    await turn();
    const inTurn = ['a1', 'b1', 'c1', 'd1', 'a2', 'b2', 'c2', 'a3', 'b3', 'c3'];
    for (const name of inTurn) await end(name);
    expect(names()).to.deep.equal(inTurn);
    expect(reads.waiting()).to.equal(0);
  });

  it('wait while answers of the shop lie unread, of that shop alone', async () => {
    open(7);
    const removals = [10, 10].map((mebibytes) => reads.addUnread(1, mebibytes * 1_024 * 1_024));
    for (const [shopId, name] of [
      [1, 'one'],
      [1, 'two'],
      [2, 'other'],
    ] as const)
      void ask(shopId, name);
    await turn();
    expect(names()).to.deep.equal(['other']);
    removals[0]?.();
    await turn();
    expect(names(), 'all that there is room for').to.deep.equal(['other', 'one', 'two']);
  });

  it('wait at the sum of all unread answers, though each was counted when the shop held nothing else', async () => {
    open(7);
    for (const name of ['first', 'second']) {
      void ask(1, name);
      await turn();
      reads.addUnread(1, 10 * 1_024 * 1_024);
      await end(name);
    }
    void ask(1, 'third');
    await turn();
    expect(names()).to.deep.equal(['first', 'second']);
  });

  it('come all at once where answers of a shop that asks alone are read', async () => {
    open(7);
    const remove = reads.addUnread(1, 20 * 1_024 * 1_024);
    for (const name of ['one', 'two', 'three']) void ask(1, name);
    await turn();
    expect(names()).to.deep.equal([]);
    remove();
    await turn();
    expect(names()).to.deep.equal(['one', 'two', 'three']);
  });

  it('come one at a time to what is asked alone, of one shop and then the other, beside all other reads', async () => {
    open(7);
    const asked = ['a1', 'a2', 'a3', 'b1'].map((name) => askAlone(name.startsWith('a') ? 1 : 2, name));
    void ask(1, 'small');
    await turn();
    expect(names().toSorted()).to.deep.equal(['a1', 'small']);
    expect(reads.waiting()).to.equal(3);
    const inTurn = ['a1', 'b1', 'a2', 'a3'];
    for (const name of inTurn) await end(name);
    expect(await Promise.all(asked)).to.deep.equal(['a1', 'a2', 'a3', 'b1'].map((data) => ({ ok: true, data })));
    expect(names().filter((name) => name !== 'small')).to.deep.equal(inTurn);
  });

  it('come to what is asked alone without one of the turns that its shop has besides', async () => {
    open(7);
    for (let index = 0; index < 15; index += 1) void ask(1, `slow ${index}`);
    for (const name of ['a1', 'a2']) void askAlone(1, name);
    void askAlone(2, 'b1');
    await turn();
    for (const name of ['a1', 'b1', 'a2']) {
      expect(names().at(-1)).to.equal(name);
      await end(name);
    }
    expect(names().filter((name) => name.startsWith('slow'))).to.have.length(5);
  });

  it('are not kept from others, alone, by a shop that has to wait for its unread answers', async () => {
    open(7);
    reads.addUnread(1, 20 * 1_024 * 1_024);
    void askAlone(1, 'waits');
    void askAlone(2, 'other');
    await turn();
    expect(names()).to.deep.equal(['other']);
  });

  it('come also after a question that fails, whose failure is passed on', async () => {
    open(1);
    const failing = reads.ask(1, () => Promise.reject(new Error('away'))).catch(String);
    const next = ask(1, 'next');
    expect(await failing).to.equal('Error: away');
    await end('next');
    expect(await next).to.deep.equal({ ok: true, data: 'next' });
  });

  it('leave no timer behind when they have come', async () => {
    open(1);
    void ask(1, 'one');
    await turn();
    const before = timerCount();
    const next = ask(1, 'next');
    await end('one');
    await end('next');
    expect(await next).to.deep.equal({ ok: true, data: 'next' });
    expect(timerCount()).to.equal(before);
  });

  it('that do not come in time are refused, and are nobody’s then', async () => {
    open(1, 20);
    const held = ask(1, 'held');
    const late = await ask(2, 'late');
    expect(late).to.have.nested.property('error.code', 'SERVICE_UNAVAILABLE');
    expect(late).to.have.nested.property('error.retryAfterSeconds', 1);
    expect(reads.waiting()).to.equal(0);
    const next = ask(3, 'next');
    await end('held');
    expect(await held).to.deep.equal({ ok: true, data: 'held' });
    await end('next');
    expect(await next).to.deep.equal({ ok: true, data: 'next' });
    expect(names()).to.deep.equal(['held', 'next']);
  });
});
