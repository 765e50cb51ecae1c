import { expect } from 'chai';
import { InvalidArgumentError } from 'commander';
import {
  collectLevel,
  decimal,
  duration,
  shortText,
  trueOrFalse,
  wholeNumber,
} from '../../../shared/manage/option-parsers.js';

/** The largest `integer` of Postgres. */
const integerMax = 2_147_483_647;
const hourMs = 3_600_000;
/** One character, of two units of UTF-16 and four bytes. */
const wide = '🕯';

const cases: Record<string, { parse: (text: string) => unknown; taken: [string, unknown][]; refused: string[] }> = {
  'a number is whole, and within its bounds, these included': {
    parse: wholeNumber(1, 1_000),
    taken: [
      ['1', 1],
      ['1000', 1_000],
    ],
    refused: ['0', '-1', '1001', '1.5', '1e2', ' 5', '', 'x'],
  },
  'a number without an upper bound of its own is one that Postgres can store': {
    parse: wholeNumber(0),
    taken: [[String(integerMax), integerMax]],
    refused: [String(integerMax + 1)],
  },
  'a decimal is written as people write it': {
    parse: decimal,
    taken: [
      ['12.5', 12.5],
      ['.5', 0.5],
      ['5.', 5],
      ['-0.25', -0.25],
    ],
    refused: ['.', '1e3', '1,5', '0x10', ' 1', ''],
  },
  'true is true, and false is false': {
    parse: trueOrFalse,
    taken: [
      ['true', true],
      ['false', false],
    ],
    refused: ['yes', 'TRUE', ''],
  },
  'a name has up to 255 characters, as Postgres counts them': {
    parse: shortText,
    taken: [[wide.repeat(255), wide.repeat(255)]],
    refused: [wide.repeat(256), '', ' '],
  },
  'a level has a quantity from 0 to 1e9, and the last = divides': {
    parse: (text) => collectLevel(text),
    taken: [
      ['b=c=.5', [{ locationId: 'b=c', quantity: 500_000 }]],
      ['a=0', [{ locationId: 'a', quantity: 0 }]],
      ['a=1000000000', [{ locationId: 'a', quantity: 1e15 }]],
    ],
    refused: ['a', '=1', 'a=', 'a=-1', 'a=1000000001', 'a=.'],
  },
  'a length of time has its unit, and may be as long as the longest': {
    parse: duration(7),
    taken: [
      ['0m', 0],
      ['90m', 1.5 * hourMs],
      ['24h', 24 * hourMs],
      ['7d', 7 * 24 * hourMs],
    ],
    refused: ['8d', '169h', '10081m', '7', 'd', '1.5h', '-1h', '5s'],
  },
};

describe('what an option of npm run manage may be', () => {
  for (const [name, { parse, taken, refused }] of Object.entries(cases)) {
    it(name, () => {
      for (const [text, value] of taken) expect(parse(text), text).to.deep.equal(value);
      for (const text of refused) expect(() => parse(text), text).to.throw(InvalidArgumentError);
    });
  }
});
