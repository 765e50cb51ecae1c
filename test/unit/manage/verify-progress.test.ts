import { expect } from 'chai';
import { onceASecond } from '../../../shared/manage/once-a-second.js';
import { createProgressBar } from '../../../shared/manage/progress-bar.js';
import { openManagedShop } from './run-manage.js';
import type { ManagedShop } from './run-manage.js';

const eraseLine = '\u001b[2K';
const hideCursor = '\u001b[?25l';
const unwrap = '\u001b[?7l';

/** What a terminal is sent. It stands for a real one, which a test's process does not have. */
function terminalOf(): { terminal: NodeJS.WriteStream; written: () => string } {
  let text = '';
  const terminal = { isTTY: true, columns: 200, write: (piece: string) => (text += piece) };
  return { terminal: terminal as unknown as NodeJS.WriteStream, written: () => text };
}

describe('the progress of verify', () => {
  it('on a terminal is a bar that says how far it is and what was found so far, and then goes', () => {
    const { terminal, written } = terminalOf();
    const bar = createProgressBar(terminal);
    expect(written()).to.equal('');
    bar.show('500 levels checked', 0.25);
    expect(written()).to.match(/\[.*\] 25% \|.*500 levels checked/);
    bar.stop();
    expect(written().split('500 levels checked').at(-1)).to.contain(eraseLine);
  });

  it('on a terminal keeps its cursor and its wrapping, which a Ctrl-C would not bring back', () => {
    const { terminal, written } = terminalOf();
    const bar = createProgressBar(terminal);
    bar.show('500 levels checked', 0.25);
    expect(written()).to.not.contain(hideCursor).and.not.contain(unwrap);
    bar.stop();
  });

  it('that was never shown leaves the terminal alone', () => {
    const { terminal, written } = terminalOf();
    createProgressBar(terminal).stop();
    expect(written()).to.equal('');
  });

  it('elsewhere is a line a second at most, the first after a second', () => {
    let nowMs = 5_000;
    const said: string[] = [];
    const say = onceASecond(
      (line) => said.push(line),
      () => nowMs,
    );
    for (nowMs of [5_000, 5_999, 6_000, 6_999, 7_400, 8_399, 8_400]) say(() => String(nowMs));
    expect(said).to.deep.equal(['6000', '7400', '8400']);
  });

  describe('of a whole database', () => {
    let shop: ManagedShop;
    before(async () => (shop = await openManagedShop()));
    after(() => shop.close());

    it('goes over every shop, and with --json says nothing but the answer', async () => {
      const other = String((await shop.cli.answer<{ id: number }>(['shops', 'create', '--name', 'Other'])).id);
      await shop.cli.answer(['locations', 'add', '--shop', other, '--id', '1', '--name', 'one']);
      const stocked = [
        [shop.shopId, '70001=1'],
        [other, '1=2'],
      ] as const;
      for (const [id, level] of stocked) {
        const create = ['materials', 'create', '--shop', id, '--product-name', 'x', '--level', level];
        await shop.cli.answer(create);
      }
      expect(await shop.cli.answer(['verify'])).to.deep.equal({
        levels: 2,
        entries: 2,
        materials: 2,
        mismatchCount: 0,
        mismatches: [],
      });
    });
  });
});
