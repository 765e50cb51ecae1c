import { expect } from 'chai';
import fc from 'fast-check';
import { parseJson } from '../../../../api/http/body/parse-json.js';
import { depthMax } from '../../../../shared/contract/json-fault.js';

const bytesOf = (text: string) => Buffer.from(text, 'utf8').toString('latin1');
const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);

const listOf = (count: number, item: string) => `[${Array<string>(count).fill(item).join()}]`;
/** Members and items over all levels, as the README has it. */
const partsMax = 20_000;

const good: { title: string; text: string }[] = [
  { title: 'any value', text: '{"a":[1,"x",null,true,{"b":{}}],"c":-1.5e3}' },
  { title: 'text past ASCII', text: '{"né":"😀 ünïcode"}' },
  { title: 'the same key in different objects', text: '[{"a":1},{"a":1,"b":{"a":1}}]' },
  { title: 'the same text as value and key', text: '{"a":"b","b":"a"}' },
  { title: 'structural characters inside of strings', text: '{"a":"{\\"a\\":[,]}","b\\\\":"\\\\","c":"\\\\\\""}' },
  { title: 'the greatest depth', text: nested(depthMax) },
  { title: 'as many items as may be', text: listOf(partsMax, '0') },
  { title: 'as many items as may be, which hold nothing', text: listOf(partsMax, '{ \n}') },
  { title: 'as many members and items as may be', text: listOf(partsMax / 4, '{"a":[[],""]}') },
  { title: 'white space', text: ' \n{ "a" : [ 1 , 2 ] , "b" : 2 }\t' },
];

const isJson = (text: string) => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

const bad: { title: string; bytes: string; path: string }[] = [
  { title: 'nothing', bytes: '', path: '' },
  { title: 'white space alone', bytes: ' \n', path: '' },
  { title: 'no JSON', bytes: '{"a":}', path: '' },
  { title: 'a second value', bytes: '{} {}', path: '' },
  { title: 'NaN', bytes: '{"a":NaN}', path: '' },
  { title: 'invalid UTF-8', bytes: '{"a":"\xff"}', path: '' },
  { title: 'a surrogate in UTF-8', bytes: '{"a":"\xed\xa0\x80"}', path: '' },
  { title: 'UTF-8 cut short', bytes: '{"a":"\xe2\x82"}', path: '' },
  { title: 'a level too deep', bytes: nested(depthMax + 1), path: '/0'.repeat(depthMax) },
  {
    title: '10,000 nested arrays in a field',
    bytes: `{"x":1,"junk":${nested(10_000)}}`,
    path: `/junk${'/0'.repeat(depthMax - 1)}`,
  },
  { title: 'an item more than may be', bytes: listOf(partsMax + 1, '0'), path: '' },
  { title: 'an item more than may be, which holds nothing', bytes: listOf(partsMax + 1, '[]'), path: '' },
  { title: 'a member more than may be', bytes: `{"a":${listOf(partsMax, '{}')}}`, path: '' },
  { title: 'a key twice', bytes: '{"a":1,"b":[2],"a":3}', path: '/a' },
  { title: 'delta twice in a row', bytes: '{"updates":[{"delta":1},{"delta":1,"delta":2}]}', path: '/updates/1/delta' },
  { title: 'a key twice, once escaped', bytes: '{"delta":1,"\\u0064elta":2}', path: '/delta' },
  { title: '__proto__ twice', bytes: '{"__proto__":1,"__proto__":2}', path: '/__proto__' },
  { title: 'a key twice around nested values', bytes: '{"a":{"a":[{"a":1}]},"b":"]}","a":2}', path: '/a' },
];

describe('the body of a request', () => {
  for (const { title, text } of good) {
    it(`is taken as it is with ${title}`, () => {
      expect(parseJson(bytesOf(text))).to.deep.equal({ ok: true, data: JSON.parse(text) as unknown });
    });
  }

  for (const { title, bytes, path } of bad) {
    it(`is INVALID_INPUT with ${title}`, () => {
      const read = parseJson(bytes);
      expect(read.ok ? undefined : read.error.code).to.equal('INVALID_INPUT');
      expect(read.ok ? undefined : read.error.details?.[0]?.path).to.equal(path);
    });
  }

  const halves: { title: string; text: string; echoed: RegExp }[] = [
    { title: 'in what is no JSON', text: '{"sku": 😀}', echoed: /Unexpected token '\ufffd'/ },
    { title: 'in a key that is there twice', text: '{"\\ud800":1,"\\ud800":2}', echoed: /"path":"\/\ufffd"/ },
  ];
  for (const { title, text, echoed } of halves) {
    it(`is refused in whole characters where half of one would be quoted, ${title}`, () => {
      const answer = JSON.stringify(parseJson(bytesOf(text)));
      expect(answer).to.match(echoed).and.not.include('\\ud');
    });
  }

  it('is refused before it is parsed where it is nested too deep, as JSON or not', () => {
    const { parse } = JSON;
    JSON.parse = () => expect.fail('it was parsed');
    try {
      for (const text of [nested(500_000), '['.repeat(1_000_000), '[{"":'.repeat(200_000)]) {
        const read = parseJson(text);
        expect(read.ok ? undefined : read.error.message).to.contain('Is nested more than 32 deep');
      }
    } finally {
      JSON.parse = parse;
    }
  });

  it('has no further key looked at after one that is no JSON', () => {
    const { parse } = JSON;
    let asked = 0;
    JSON.parse = (text: string) => {
      asked += 1;
      return parse(text) as unknown;
    };
    try {
      expect(parseJson(`{${'"\\x":1,'.repeat(10_000)}"a":1}`).ok).to.equal(false);
      expect(asked).to.equal(2);
    } finally {
      JSON.parse = parse;
    }
  });

  it('is not looked through to its end where it cannot be JSON', () => {
    let sets = 0;
    const OriginalSet = globalThis.Set;
    globalThis.Set = class<T> extends OriginalSet<T> {
      constructor(values?: Iterable<T>) {
        super(values);
        sets += 1;
      }
    } as SetConstructor;
    try {
      for (const text of [`[${'{}'.repeat(500_000)}`, '{}'.repeat(500_000), `{"a":${'{}'.repeat(500_000)}`]) {
        sets = 0;
        const read = parseJson(text);
        expect(read.ok ? undefined : read.error.message).to.contain('is not valid JSON');
        expect(sets, 'objects that were looked into').to.be.below(2 * partsMax);
      }
    } finally {
      globalThis.Set = OriginalSet;
    }
  });

  it('is refused, whatever it holds, exactly if it is no JSON or has one of these faults', () => {
    const token = fc.constantFrom('{', '}', '[', ']', ',', ':', '"', '\\', '"a"', '"a":', '"\\u0061":', '1', ' ', '😀');
    const text = fc.oneof(
      fc.array(token, { maxLength: 30 }).map((tokens) => tokens.join('')),
      fc.json(),
    );
    fc.assert(
      fc.property(text, (given) => {
        const read = parseJson(bytesOf(given));
        if (read.ok) expect(read.data).to.deep.equal(JSON.parse(given));
        else expect(read.error.code).to.equal('INVALID_INPUT');
        const isTwice = !read.ok && read.error.message.endsWith('Is given more than once.');
        if (!isTwice) expect(read.ok).to.equal(isJson(given));
      }),
    );
  });

  it('touches no prototype with a __proto__ key', () => {
    const read = parseJson('{"__proto__":{"polluted":true}}');
    expect(read.ok).to.equal(true);
    expect(({} as Record<string, unknown>)['polluted']).to.equal(undefined);
  });
});
