import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Slice } from '../../src/qm/slice.js';
import { FEW_URLS } from '../../src/qm/slice-size.js';
import { URL_ATTRIBUTES, type UrlRecord } from '../../src/wire/url.js';

const text = fc.string({ unit: 'binary', maxLength: 20 });
const record = fc.record(
  {
    ...Object.fromEntries(URL_ATTRIBUTES.map(name => [name, text])),
    curl: text,
    mimetype: text,
    extra: fc.dictionary(text, text),
  },
  { requiredKeys: ['curl', 'mimetype'] },
);

test('the urls of a slice come out as they came in, as often as it is read, whether it is long or became so', () => {
  fc.assert(
    fc.property(
      fc.array(record, { minLength: 1, maxLength: 30 }),
      fc.integer({ min: 1, max: 2500 }),
      fc.nat(2500),
      (some, urls, longFrom) => {
        const records = Array.from({ length: urls }, (_, i) => some[i % some.length] as UrlRecord);
        const slice = new Slice();
        records.forEach((each, i) => slice.add(each, i < longFrom ? FEW_URLS : FEW_URLS + 1));
        assert.equal(slice.urls, urls);
        for (let time = 0; time < 2; time++) assert.deepEqual(plain([...slice]), plain(records));
      },
    ),
    { numRuns: 30 },
  );
});

/** Without the prototypes of what was read again. */
function plain(records: readonly UrlRecord[]): unknown[] {
  return records.map(({ extra, ...rest }) => ({ ...rest, extra: Object.entries(extra ?? {}) }));
}
