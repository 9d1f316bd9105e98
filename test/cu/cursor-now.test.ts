/** `lccq --from-now`: a cursor that begins with the next change. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { afterEach, beforeEach, test } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runCommand } from '../support/command.js';

let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
  cache.put({ curl: 'http://h/old', content: 'old' });
});
afterEach(() => cache.close());

const lccq = (...args: string[]) => runCommand(cache.home, 'lccq', args);

test('what is there is told to nobody, what comes then is, deletions too', () => {
  const file = `${cache.home}/c`;
  const made = lccq(`--cursor=${file}`, '--from-now');
  assert.deepEqual([made.status, made.stdout], [0, '']);
  const run = () => lccq(`--cursor=${file}`, '--format=tsv', '--fields=curl', '--', 'cat').stdout;
  assert.equal(run(), '');
  cache.put({ curl: 'http://h/new', content: 'new' });
  assert.equal(run(), 'http://h/new\n');
});

test('a cursor that is there is not moved', () => {
  const file = `${cache.home}/c`;
  assert.equal(lccq(`--cursor=${file}`, '--', 'sh', '-c', 'cat >/dev/null').status, 0);
  const before = readFileSync(file, 'utf8');
  cache.put({ curl: 'http://h/new', content: 'new' });
  const { status, stderr } = lccq(`--cursor=${file}`, '--from-now');
  assert.equal(status, 64);
  assert.match(stderr, /is a cursor already, at change \d+; leave out --from-now/);
  assert.equal(readFileSync(file, 'utf8'), before);
});

test('a selection belongs to it, and other options are refused', () => {
  const file = `${cache.home}/c`;
  assert.equal(lccq(`--cursor=${file}`, '--from-now', '--pid=7', '--mime=text/*').status, 0);
  assert.match(readFileSync(file, 'utf8'), /\nof --pid=7 --mime="text\/\*"\n$/);
  assert.equal(lccq(`--cursor=${file}`, '--pid=8', '--', 'true').status, 65);
  for (const args of [
    ['--from-now'],
    [`--cursor=${file}2`, '--from-now', '--limit=3'],
    [`--cursor=${file}2`, '--from-now', '--', 'cat'],
  ])
    assert.equal(lccq(...args).status, 64, args.join(' '));
});
