import { expect } from 'chai';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { sendContinue, holdBack, isHeldBack } from '../../../../api/http/connections/held-back-body.js';

/** An answer, and how often its client was told to go on. */
function answerOf({ headersSent }: { headersSent: boolean }) {
  const res = new ServerResponse(new IncomingMessage(new Socket()));
  const seen = { told: 0 };
  Object.defineProperty(res, 'headersSent', { value: headersSent });
  res.writeContinue = () => {
    seen.told += 1;
  };
  return { res, seen };
}

describe('a client that holds its body back', () => {
  it('is told once to go on, and holds nothing back from then on', () => {
    const { res, seen } = answerOf({ headersSent: false });
    holdBack(res);
    expect(isHeldBack(res)).to.equal(true);
    sendContinue(res);
    sendContinue(res);
    expect(seen.told).to.equal(1);
    expect(isHeldBack(res)).to.equal(false);
  });

  it('is told nothing behind its answer', () => {
    const { res, seen } = answerOf({ headersSent: true });
    holdBack(res);
    sendContinue(res);
    expect(seen.told).to.equal(0);
  });

  it('and one that does not is told nothing', () => {
    const { res, seen } = answerOf({ headersSent: false });
    sendContinue(res);
    expect(seen.told).to.equal(0);
  });
});
