import { expect } from 'chai';
import { parseImportRecord } from '../../../shared/manage/parse-import-record.js';
import { leftBehindBytes } from '../../support/memory/outliving.js';

const shop = { locationIds: new Set(['a:b', '70001']), defaultLocationId: null };
const long = 1_000_000;

describe('a line of an import', () => {
  const faultsOf = (cells: Record<string, string>) => {
    const read = parseImportRecord({ productName: 'Wax', ...cells }, 'csv', shop);
    return read.ok ? [] : read.faults;
  };
  const levelsOf = (levels: string) => {
    const read = parseImportRecord({ productName: 'Wax', levels }, 'csv', shop);
    return read.ok ? read.record.stock.levels.map(({ locationId, quantity }) => [locationId, quantity]) : read.faults;
  };

  it('has its levels as location:quantity, with blanks around, and the last colon dividing', () => {
    expect(levelsOf(' 70001: 1.5 ;a:b:2e0')).to.deep.equal([
      ['70001', 1_500_000],
      ['a:b', 2_000_000],
    ]);
    for (const levels of ['70001', ':1', ' :1', '', '70001:1;']) {
      expect(levelsOf(levels), levels).to.deep.equal([
        'levels: Must be location:quantity;location:quantity, or a JSON object of these.',
      ]);
    }
    for (const levels of ['70001:', '70001:x', '70001:1 2', '70001:-1'])
      expect(levelsOf(levels), levels).to.deep.equal([
        'levels: The quantity at 70001 must be a number from 0 to 1000000000.',
      ]);
  });

  it('has numbers with an exponent, without digits on one side of the point, and with blanks around', () => {
    for (const unitCost of ['1', '-0', '1.', '.5', '1e3', '1.5E-2', ' 5 ', '\t5']) {
      expect(faultsOf({ unitCost }), unitCost).to.deep.equal([]);
    }
    for (const unitCost of ['.', 'e3', '1e', '1 2', '0x10', 'Infinity', '1,5', '--1']) {
      expect(faultsOf({ unitCost }), unitCost).to.deep.equal(['unitCost: Must be a decimal number, as 12.5.']);
    }
  });

  it('has cells of CSV that are numbers and truths, with blanks around, as what they stand for', () => {
    const cells = { unitCost: '1', unitPrice: ' 2.5', weightValue: '3 ', inventoryQuantity: '4' };
    for (const isNonEssentialMaterial of [true, false]) {
      const given = { productName: 'Wax', ...cells, isNonEssentialMaterial: ` ${String(isNonEssentialMaterial)} ` };
      const read = parseImportRecord(given, 'csv', { ...shop, defaultLocationId: '70001' });
      const fields = { productName: 'Wax', unitCost: 1, unitPrice: 2.5, weightValue: 3, isNonEssentialMaterial };
      const stock = { total: 4_000_000, levels: [{ locationId: '70001', quantity: 4_000_000 }] };
      expect(read).to.deep.equal({ ok: true, record: { id: undefined, fields, stock } });
    }
  });

  it('has levels or a total, and not both', () => {
    expect(faultsOf({ levels: '70001:1', inventoryQuantity: '1' })).to.deep.equal([
      'levels: Cannot be given together with inventoryQuantity.',
    ]);
  });

  it('has levels up to 1e9, and no more in all than a total may be', () => {
    expect(levelsOf('70001:1000000000')).to.deep.equal([['70001', 1e15]]);
    const locationIds = Array.from({ length: 9 }, (_, index) => `L${index}`);
    const levels = Object.fromEntries(locationIds.map((id) => [id, 1_000_000_000]));
    const many = { locationIds: new Set(locationIds), defaultLocationId: null };
    expect(parseImportRecord({ productName: 'Wax', levels }, 'jsonl', many)).to.deep.equal({
      ok: false,
      faults: ["levels: The material's total would leave its bounds of ±8000000000."],
    });
  });

  it('of JSON has values of their own types, and none is taken for another', () => {
    const faults = (values: Record<string, unknown>) => {
      const read = parseImportRecord({ productName: 'Wax', ...values }, 'jsonl', shop);
      return read.ok ? [] : read.faults;
    };
    const noId = 'id: Must be VMAT- and 1 to 64 letters, digits or hyphens.';
    for (const id of [5, ['VMAT-1']]) expect(faults({ id })).to.deep.equal([noId]);
    const noNumber = 'unitCost: Must be a finite number or null.';
    for (const unitCost of ['1', 'x']) expect(faults({ unitCost })).to.deep.equal([noNumber]);
    const quantity = 'levels: The quantity at 70001 must be a number from 0 to 1000000000.';
    for (const level of ['1', null, true]) expect(faults({ levels: { '70001': level } })).to.deep.equal([quantity]);
  });

  it('has its first ten faults named, and how many more there are', () => {
    const elsewhere = (count: number) => Array.from({ length: count }, (_, index) => `9${String(index)}:1`).join(';');
    const named = faultsOf({ levels: elsewhere(10) });
    expect(named).to.have.length(10);
    expect(faultsOf({ levels: elsewhere(200) })).to.deep.equal([...named, 'And 190 more.']);
  });

  describe('whose names move a terminal, or are as long as a line may be,', () => {
    const ofJson = (values: Record<string, unknown>) => {
      const read = parseImportRecord({ productName: 'Wax', ...values }, 'jsonl', shop);
      return read.ok ? [] : read.faults;
    };
    const moving = '\u001b[2J\u001b]owned\u0007\nOK 5\u009b';
    const shown = '\ufffd[2J\ufffd]owned\ufffd\ufffdOK 5\ufffd';
    const cut = `${'x'.repeat(80)}…`;
    const [name, wanted] = [moving + 'x'.repeat(long), shown + 'x'.repeat(80 - shown.length) + '…'];

    it('has these shown without what moves it, and their begin alone', () => {
      expect(ofJson({ [moving]: 1 })).to.deep.equal([`${shown}: Is no known field.`]);
      expect(ofJson({ [name]: 1 })).to.deep.equal([`${wanted}: Is no known field.`]);
      const unknown = `levels: The shop has no location ${wanted}.`;
      expect(ofJson({ levels: { [name]: 1 } })).to.deep.equal([unknown]);
      const twice = `levels: The location ${wanted} is given more than once.`;
      expect(faultsOf({ levels: `${name}:1;${name}:1` })).to.deep.equal([unknown, twice]);
      expect(ofJson({ levels: `{"${'x'.repeat(long)}":1,"${'x'.repeat(long)}":1}` })).to.deep.equal([
        `levels/${cut.slice(1)}: Is given more than once.`,
      ]);
    });

    it('leaves no more than its faults in memory', async () => {
      const kept: string[][] = [];
      const left = await leftBehindBytes(40, () => {
        kept.push(faultsOf({ levels: `a location of elsewhere:1;70001:${'1'.repeat(long)}` }));
      });
      expect(kept.at(-1)).to.have.length(2);
      expect(left).to.be.below(long / 10);
    });
  });

  // Where two parts of a pattern can take the same characters, each of these takes hours.
  for (const [what, cells] of Object.entries({
    'a number that is none at its end': { unitCost: `${'1'.repeat(long)}x` },
    'a number with blanks before what is none': { unitCost: `1${' '.repeat(long)}x` },
    'levels of blanks': { levels: ' '.repeat(long) },
    'a quantity that is none at its end': { levels: `70001:${'1'.repeat(long)}x` },
  })) {
    it(`of a megabyte is refused at once: ${what}`, () => {
      expect(faultsOf(cells)).to.have.length(1);
    });
  }
});
