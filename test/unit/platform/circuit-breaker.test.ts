import { expect } from 'chai';
import { createCircuitBreaker } from '../../../shared/platform/circuit-breaker.js';

function createSubject() {
  let nowMs = 0;
  const changes: string[] = [];
  const circuit = createCircuitBreaker({
    failuresToOpen: 3,
    coolDownMs: 100,
    nowMs: () => nowMs,
    onChange: (state) => changes.push(state),
  });
  const call = async (outcome: 'good' | 'bad' | Promise<'good' | 'bad'>) => {
    const passed = await circuit.run(
      async () => outcome,
      (value) => value === 'bad',
    );
    return passed.open ? 'refused' : passed.outcome;
  };
  return {
    circuit,
    changes,
    call,
    advance: (ms: number) => {
      nowMs += ms;
    },
    fail: async (times: number) => {
      for (let n = 0; n < times; n++) await call('bad');
    },
  };
}

/** A promise and its resolver; Promise.withResolvers needs Node 22. */
function deferred<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

describe('a circuit breaker', () => {
  it('only failures in a row open it: a success begins the count anew', async () => {
    const { call, fail } = createSubject();
    await fail(2);
    await call('good');
    await fail(2);
    expect(await call('good')).to.equal('good');
  });

  it('while open nothing gets through until the cool-down is over', async () => {
    const { call, fail, advance, circuit } = createSubject();
    await fail(3);
    expect(await call('good')).to.equal('refused');
    advance(99);
    expect(circuit.admits()).to.equal(false);
    advance(1);
    expect(circuit.admits()).to.equal(true);
    expect(await call('good')).to.equal('good');
  });

  it('half open, one probe runs and every call beside it is refused', async () => {
    const { call, fail, advance } = createSubject();
    await fail(3);
    advance(100);
    const probe = deferred<'good'>();
    const probing = call(probe.promise);
    expect(await call('good')).to.equal('refused');
    probe.resolve('good');
    expect(await probing).to.equal('good');
    expect(await call('good')).to.equal('good');
  });

  it('a bad probe opens it for another whole cool-down, which is no new opening', async () => {
    const { call, fail, advance, changes } = createSubject();
    await fail(3);
    advance(100);
    expect(await call('bad')).to.equal('bad');
    advance(99);
    expect(await call('good')).to.equal('refused');
    advance(1);
    expect(await call('good')).to.equal('good');
    expect(changes).to.deep.equal(['opened', 'closed']);
  });

  it('a success that began before it opened does not close it', async () => {
    const { call, fail } = createSubject();
    const late = deferred<'good'>();
    const early = call(late.promise);
    await fail(3);
    late.resolve('good');
    expect(await early).to.equal('good');
    expect(await call('good')).to.equal('refused');
  });

  it('nor while it is probed: until the probe has answered, every other call is refused', async () => {
    const { call, fail, advance, changes } = createSubject();
    const late = deferred<'good'>();
    const early = call(late.promise);
    await fail(3);
    advance(100);
    const probe = deferred<'bad'>();
    const probing = call(probe.promise);
    late.resolve('good');
    expect(await early).to.equal('good');
    expect(await call('good')).to.equal('refused');
    probe.resolve('bad');
    expect(await probing).to.equal('bad');
    expect(changes).to.deep.equal(['opened']);
  });

  it('a probe that throws counts as bad and does not block the circuit for ever', async () => {
    const { call, fail, advance } = createSubject();
    await fail(3);
    advance(100);
    const thrown = await call(Promise.reject(new Error('fault'))).catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(Error);
    expect(await call('good')).to.equal('refused');
    advance(100);
    expect(await call('good')).to.equal('good');
  });
});
