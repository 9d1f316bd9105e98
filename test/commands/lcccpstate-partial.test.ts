import assert from 'node:assert/strict';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { accept, CUT, freshDir, run, site, stateOf, stream, url } from '../support/lcccpstate.js';

const PARTIAL_END = '<?lcc end set="partial"?>\n';
const atEnd = (...lines: string[]) => stream(...lines).replace('<?lcc end?>\n', PARTIAL_END);
const atBeginning = (...lines: string[]) => stream(...lines).replace('"test"', '"test" set="partial"');

test('a list that names a part of the site deletes nothing, keeps the rest, and is not to be sent as all there is', () => {
  // The other spelling, of the mark and of a url, goes through the XML reader.
  const odd = (...lines: string[]) =>
    `<?lcc from='x'?><a>${lines.join('')}<url mimetype="text/html" curl="p0" len="0"/></a><?lcc end set='partial'?>`;
  for (const partial of [atEnd, atBeginning, odd]) {
    const dir = freshDir();
    run(dir, stream(...site(20)), ['--commit-now']);
    const done = run(dir, partial(url('new', 1), url('p3', 33)));
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(done.urls, [url('new', 1), url('p3', 33)]);
    assert.match(done.stdout, /^<\?lcc from="lcccpstate" set="partial" whole="no" state="/);
    assert.match(done.stdout, /<\?lcc end\?>\n$/);
    const kept = partial === odd ? 18 : 19;
    assert.match(
      done.stderr,
      new RegExp(`part of the site only: nothing is deleted, ${kept} urls .* are kept`),
    );
    accept(dir);
    const now = [...site(20).filter(l => l !== url('p3', 3)), url('new', 1), url('p3', 33)].sort();
    assert.equal(stateOf(dir), `${now.join('\n')}\n`);
    // The next list that is whole deletes again.
    const whole = run(dir, stream(...site(20)));
    assert.match(whole.stdout, /^<\?lcc from="lcccpstate" set="partial" state="/);
    assert.deepEqual(whole.urls, ['<url curl="new" mimetype="text/html" op="delete"/>', url('p3', 3)]);
  }
});

test('a part that holds nothing new, or nothing at all, leaves no file and changes nothing', () => {
  const dir = freshDir();
  const first = run(dir, atEnd());
  assert.equal(first.status, 0, first.stderr);
  assert.match(first.stdout, / whole="no" .* id="" base=""/);
  assert.deepEqual(readdirSync(dir), []);
  run(dir, stream(...site(3)), ['--commit-now']);
  for (const part of [atEnd(), atEnd(url('p1', 1)), atBeginning(...site(3))]) {
    const done = run(dir, part);
    assert.equal(done.status, 0, done.stderr);
    assert.deepEqual(done.urls, []);
    assert.match(done.stdout, / whole="no" .* id=""/);
    assert.deepEqual(readdirSync(dir), ['state.txt']);
  }
  const cut = run(dir, atEnd(url('p1', 5)).slice(0, -5));
  assert.deepEqual([cut.status, cut.stdout], [65, CUT]);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
});

test('--full is refused for a part of a site', () => {
  const dir = freshDir();
  run(dir, stream(...site(3)), ['--commit-now']);
  const done = run(dir, atEnd(...site(3)), ['--full']);
  assert.deepEqual([done.status, done.stdout], [65, CUT]);
  assert.match(done.stderr, /--full: the input names a part of the site only/);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
});

test('--forget drops what no part has named for that long, in silence; what comes back is no change', () => {
  const dir = freshDir();
  run(dir, atBeginning(url('a', 1), url('b', 2), url('c', 3)), ['--commit-now', '--forget=90d']);
  const part = () => run(dir, atBeginning(url('a', 1)), ['--commit-now', '--forget=90d']);
  assert.deepEqual(part().urls, []);
  assert.match(
    stateOf(dir),
    /^<url curl="a" mimetype="text\/html" len="1"\/>\n<url curl="b".* unseen="\d{4}-.*Z"\/>\n.*c.* unseen=/,
  );
  const marked = stateOf(dir);
  assert.deepEqual([part().urls, stateOf(dir)], [[], marked]);
  const back = run(dir, atBeginning(url('a', 1), url('b', 2)), ['--commit-now', '--forget=90d']);
  assert.deepEqual(back.urls, []);
  assert.match(stateOf(dir), /curl="b" mimetype="text\/html" len="2"\/>\n.*curl="c".* unseen=/);
  writeFileSync(join(dir, 'state.txt'), stateOf(dir).replace(/unseen="2\d\d\d/, 'unseen="1999'));
  assert.deepEqual(part().urls, []);
  assert.doesNotMatch(stateOf(dir), /curl="c"/);
  // Without the option nothing is marked or forgotten.
  run(dir, atBeginning(url('z', 1)), ['--commit-now']);
  assert.match(stateOf(dir), /curl="a" mimetype="text\/html" len="1"\/>/);
  for (const bad of ['90', 'x', '0d', '-1d', ''])
    assert.equal(run(dir, stream(), [`--forget=${bad}`]).status, 64);
});

test('a url that only a set in doubt names is asked for again, and is in the state from then on', () => {
  const dir = freshDir();
  run(dir, stream(url('a', 1)), ['--commit-now']);
  assert.deepEqual(run(dir, atBeginning(url('x', 1))).urls, [url('x', 1)]);
  // Nobody knows whether it was accepted.
  const next = run(dir, atBeginning(url('y', 1)));
  assert.deepEqual(next.urls, ['<url curl="x" mimetype="text/html"/>', url('y', 1)]);
  accept(dir);
  assert.deepEqual(readdirSync(dir), ['state.txt']);
  assert.equal(stateOf(dir), `${url('a', 1)}\n<url curl="x" mimetype="text/html"/>\n${url('y', 1)}\n`);
  const whole = run(dir, stream(url('a', 1), url('y', 1)));
  assert.deepEqual(whole.urls, ['<url curl="x" mimetype="text/html" op="delete"/>']);
});

test('the marks that make a change: revisit and entry', () => {
  const dir = freshDir();
  const page = (mark: string) => `<url curl="http://e/a" mimetype="*/*" outofroot="drop"${mark}/>`;
  const entry = ` entry="${'0a'.repeat(16)}"`;
  run(dir, stream(page(' revisit="19"')), ['--commit-now']);
  assert.deepEqual(run(dir, stream(page(' revisit="19"'))).urls, []);
  for (const mark of [' revisit="20"', entry, ''])
    assert.deepEqual(run(dir, stream(page(mark)), ['--commit-now']).urls, [page(mark)]);
});
