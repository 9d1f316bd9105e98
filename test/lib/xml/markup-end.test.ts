import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TagEnd, TextEnd, type MarkupEnd } from '../../../src/lib/xml/markup-end.js';

/** Where the end is found in markup that comes in two pieces, counted from its beginning. */
function findIn(end: MarkupEnd, text: string, cutAt: number): number | undefined {
  const first = end.find(text.slice(0, cutAt), 0);
  if (first !== undefined) return first;
  const rest = end.find(text.slice(cutAt), 0);
  return rest === undefined ? undefined : cutAt + rest;
}

const CASES: [name: string, markup: string, make: () => MarkupEnd, minCut: number][] = [
  ['tag', '<a b="x" c=\'y\'/>', () => new TagEnd(), 1],
  ['tag with > in its values', '<a b=">\'>" c=\'">">\'>', () => new TagEnd(), 1],
  ['end tag', '</a >', () => new TagEnd(), 1],
  ['comment', '<!-- > -> - -->', () => new TextEnd('<!--', '-->'), 4],
  ['shortest comment', '<!---->', () => new TextEnd('<!--', '-->'), 4],
  ['instruction', '<?a ? > b ??>', () => new TextEnd('<?', '?>'), 2],
];

describe('the end of markup', () => {
  for (const [name, markup, make, minCut] of CASES)
    it(`is found wherever it is cut: ${name}`, () => {
      const text = `${markup}x="1"-->?>`;
      for (let cutAt = minCut; cutAt <= text.length; cutAt++)
        assert.equal(findIn(make(), text, cutAt), markup.length, `cut at ${cutAt}`);
    });

  it('of a comment is not among its first characters', () => {
    assert.equal(new TextEnd('<!--', '-->').find('<!-->', 0), undefined);
    assert.equal(new TextEnd('<!--', '-->').find('<!--->', 0), undefined);
  });

  it('is found in pieces of one character', () => {
    for (const [name, markup, make, minCut] of CASES) {
      const end = make();
      assert.equal(end.find(markup.slice(0, minCut), 0), undefined, name);
      for (let at = minCut; at < markup.length - 1; at++)
        assert.equal(end.find(markup.charAt(at), 0), undefined, `${name} at ${at}`);
      assert.equal(end.find('>', 0), 1, name);
    }
  });
});
