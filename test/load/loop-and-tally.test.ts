import { expect } from 'chai';
import { createOpenLoop } from './generator/loop.js';
import { createTally } from './generator/tally.js';
import { createStageClock } from './stage.js';

const never = () => false;

describe('an open loop', () => {
  it('makes as many requests due as the rate says, whatever the clock reads at the start', () => {
    const stages = [{ ms: 800, from: 100, to: 100, isWarmup: false }];
    const dueFrom = (startMs: number) => {
      const clock = createStageClock(stages, startMs);
      const loop = createOpenLoop({
        clock,
        send: () => undefined,
        inFlight: () => 0,
        isOver: never,
        isStopped: never,
        hasSentAll: never,
      });
      loop.tick(clock.endMs + 1);
      return loop.waiting();
    };
    // The sum of eighty times 10 ms comes out below or above 800 ms, depending on the start's last digits.
    const counts = Array.from({ length: 1_000 }, (_, index) => dueFrom(100 + index * 1.2345));
    expect([...new Set(counts)]).to.deep.equal([80]);
  });

  it('counts what is due behind more than it notes', () => {
    const clock = createStageClock([{ ms: 1_000, from: 300_000, to: 300_000, isWarmup: false }], 0);
    const loop = createOpenLoop({
      clock,
      send: () => undefined,
      inFlight: () => 0,
      isOver: (nowMs) => nowMs >= clock.endMs,
      isStopped: never,
      hasSentAll: never,
    });
    loop.tick(clock.endMs - 1);
    expect(loop.waiting()).to.equal(200_000);
    loop.tick(clock.endMs + 1);
    expect(loop.waiting()).to.equal(300_000);
  });

  it('has sent in vain for a connection what waited at a stop, and wants nothing that is due after it', () => {
    const clock = createStageClock([{ ms: 1_000, from: 100, to: 100, isWarmup: false }], 0);
    let isStopped = false;
    const deps = { clock, send: () => undefined, inFlight: () => 0, isOver: () => isStopped, hasSentAll: never };
    const loop = createOpenLoop({ ...deps, isStopped: () => isStopped });
    loop.tick(495);
    isStopped = true;
    loop.tick(900);
    expect(loop.waiting()).to.equal(50);
  });

  it('wants nothing beyond the number that it may send', () => {
    const clock = createStageClock([{ ms: 1_000, from: 100, to: 100, isWarmup: false }], 0);
    const deps = { clock, send: () => undefined, inFlight: () => 0, isOver: never, isStopped: never };
    const loop = createOpenLoop({ ...deps, hasSentAll: () => true });
    loop.tick(495);
    expect(loop.waiting()).to.equal(0);
  });
});

describe('the tally of a run', () => {
  it('gives a run that ended early the time that its last answers took', () => {
    const clock = createStageClock([{ ms: 1_000, from: 2, to: 2, isWarmup: false }], 0);
    const tally = createTally([{ ms: 1_000, from: 2, to: 2, isWarmup: false }], clock, 100);
    const request = { kind: 0, material: 0, delta: 0, rows: 0, message: '' };
    for (const nowMs of [40, 400]) tally.record({ request, dueMs: 0, sentMs: 0 }, '200', 'ok', nowMs);
    // With --requests 2 the load is over once both were sent, long before they are answered.
    expect(tally.stages(10)).to.have.lengthOf(1);
    expect(tally.stages(10)[0]).to.include({ answered: 2, ms: 400 });
    expect(tally.stages(1_000)[0]).to.include({ answered: 2, ms: 1_000 });
  });

  it('hands out each slice of time that ended, also where it was an answer that ended it', () => {
    const clock = createStageClock([{ ms: 1_000, from: 1, to: 1, isWarmup: false }], 0);
    const tally = createTally([], clock, 100);
    const request = { kind: 0, material: 0, delta: 0, rows: 0, message: '' };
    const answerAt = (nowMs: number) => tally.record({ request, dueMs: nowMs, sentMs: nowMs }, '200', 'ok', nowMs);
    answerAt(50);
    answerAt(90);
    expect(tally.takeEndedSlice(99)).to.equal(undefined);
    answerAt(101);
    expect(tally.takeEndedSlice(105)?.counts.ok).to.equal(2);
    expect(tally.takeEndedSlice(106)).to.equal(undefined);
    expect(tally.takeEndedSlice(200)?.counts.ok).to.equal(1);
  });

  it('has no load in the drain, which begins where no request goes out any more', () => {
    const stages = [{ ms: 200, from: 8, to: 8, isWarmup: false }];
    const tally = createTally(stages, createStageClock(stages, 1_000), 100);
    tally.takeEndedSlice(1_500);
    const loads = (endedMs: number) => tally.series(endedMs).map(({ load }) => load);
    expect(loads(1_200)).to.deep.equal([8, 8, 0, 0, 0]);
    expect(loads(1_050), 'of one that was stopped').to.deep.equal([8, 0, 0, 0, 0]);
  });
});
