import { expect } from 'chai';
import { parseMoment } from '../../../shared/contract/moment.js';

const moments: [text: string, first: string, last: string][] = [
  ['2026-01-31', '2026-01-31T00:00:00.000Z', '2026-01-31T23:59:59.999Z'],
  ['2026-01-31T10:00Z', '2026-01-31T10:00:00.000Z', '2026-01-31T10:00:00.000Z'],
  ['2026-01-31T10:00:01Z', '2026-01-31T10:00:01.000Z', '2026-01-31T10:00:01.000Z'],
  ['2026-01-31T10:00:01.5+02:00', '2026-01-31T08:00:01.500Z', '2026-01-31T08:00:01.500Z'],
  ['2026-01-31T10:00:01.123456Z', '2026-01-31T10:00:01.123Z', '2026-01-31T10:00:01.123Z'],
  ['2024-02-29T00:00:00Z', '2024-02-29T00:00:00.000Z', '2024-02-29T00:00:00.000Z'],
];

const none = [
  '',
  'yesterday',
  '1767225600000',
  '2026',
  '2026-01',
  '2026-13-01',
  '2026-02-30',
  '2026-02-30T10:00:00Z',
  '2026-01-31T10:00:00',
  '2026-01-31 10:00:00Z',
  '2026-01-31T25:00:00Z',
  '2026-01-31T10:00:00+99:00',
  '2026-01-31T10:00:00Z ',
  '+002026-01-31T10:00:00Z',
  'Sat, 31 Jan 2026 10:00:00 GMT',
];

describe('a moment', () => {
  for (const [text, first, last] of moments) {
    it(`${text} is ${first} to ${last}`, () => {
      expect(parseMoment(text)).to.deep.equal({ firstMs: Date.parse(first), lastMs: Date.parse(last) });
    });
  }

  for (const text of none) {
    it(`is not ${JSON.stringify(text)}`, () => {
      expect(parseMoment(text)).to.equal(undefined);
    });
  }
});
