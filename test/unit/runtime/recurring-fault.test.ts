import { expect } from 'chai';
import { pino } from 'pino';
import { logRecurring } from '../../../shared/runtime/recurring-fault.js';

describe('a fault that comes again and again', () => {
  const lines: { msg: string; err: { message: string } }[] = [];
  const write = (line: string) => lines.push(JSON.parse(line) as (typeof lines)[number]);
  const reasonOf = (error: unknown) => (error as Error).message.split(' at ')[0] ?? '';
  const said = () => lines.splice(0).map(({ err }) => err.message);

  it('is logged once for each reason, whatever comes between, and anew once it was over, which is logged as well', () => {
    const attempt = logRecurring(pino({}, { write }), 'It does not work.', reasonOf);
    attempt.passed();
    expect(said()).to.deep.equal([]);
    for (const message of ['full at 1', 'away', 'full at 2', 'away']) attempt.failed(new Error(message));
    expect(lines[0]?.msg).to.equal('It does not work.');
    expect(said()).to.deep.equal(['full at 1', 'away']);
    attempt.passed();
    attempt.passed();
    expect(lines.splice(0).map(({ msg }) => msg)).to.deep.equal(['This is over: It does not work.']);
    attempt.failed(new Error('full at 3'));
    expect(said()).to.deep.equal(['full at 3']);
  });

  it('is told by its whole message where nothing else is said', () => {
    const attempt = logRecurring(pino({}, { write }), 'It does not work.');
    for (const message of ['full at 1', 'full at 2', 'full at 1']) attempt.failed(new Error(message));
    expect(said()).to.deep.equal(['full at 1', 'full at 2']);
  });
});
