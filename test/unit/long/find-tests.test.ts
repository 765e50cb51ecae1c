import { expect } from 'chai';
import { findTests, grepOf, readTestFiles, selectTests } from '../../long/find-tests.js';
import type { LongTest } from '../../long/find-tests.js';

/** The text of a test file with these titles; put together, or this file would itself be found. */
function fileOf(path: string, ...titles: string[]) {
  return { path, text: titles.map((title) => `describe('${title}', () => {\n});`).join('\n') };
}

const thirteen: LongTest = { name: 'T13', parts: [{ title: 'overload', file: 'overload' }] };
const three: LongTest = { name: 'T3', parts: [{ title: 'kills', file: 'kills' }] };

describe('the tests of a long run', () => {
  it('are found by their titles, in the order of their numbers', () => {
    const files = [fileOf('overload', 'T13: overload'), fileOf('kills', 'T3: kills', 'another'), fileOf('none', 'T3')];
    expect(findTests(files)).to.deep.equal([three, thirteen]);
  });

  it('may stand in several files, and in a single test of a suite', () => {
    const single = { path: 'single', text: fileOf('', 'T3: stops').text.replace('describe', '  it') };
    const broken = { path: 'broken', text: fileOf('', 'T3: cuts').text.replace("('", "(\n  '") };
    expect(findTests([fileOf('kills', 'T3: kills', 'T3: more'), single, broken])).to.deep.equal([
      { ...three, parts: [...three.parts, { title: 'stops', file: 'single' }, { title: 'cuts', file: 'broken' }] },
    ]);
  });

  it('are chosen by name, in whatever case, and all where none is named', () => {
    const all = [three, thirteen];
    expect(selectTests(all, [])).to.deep.equal(all);
    expect(selectTests(all, ['t13', 'T3', 'T13'])).to.deep.equal(all);
    expect(selectTests(all, ['T13'])).to.deep.equal([thirteen]);
  });

  it('are listed to whoever asks for one that there is not', () => {
    expect(() => selectTests([three, thirteen], ['T3', 'T1', 'x'])).to.throw('There is no T1, X. There are T3, T13.');
  });

  it('are told apart from those whose names begin alike', () => {
    const grep = new RegExp(grepOf(three));
    const titles = ['T3: kills', 'a suite T3: kills', 'T13: overload', 'T30: more', 'it has T3 in it'];
    expect(titles.filter((title) => grep.test(title))).to.deep.equal(['T3: kills', 'a suite T3: kills']);
  });

  it('are all those that have a large size', () => {
    const names = findTests(readTestFiles()).map(({ name }) => name);
    expect(names).to.include.members(['T1', 'T3', 'T4', 'T5', 'T6', 'T7', 'T11', 'T18', 'T19', 'T20']);
  });
});
