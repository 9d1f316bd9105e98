import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish } from './support/demo.js';

let home: DemoHome;

beforeEach(() => void (home = new DemoHome()));
afterEach(() => home.remove());

describe('the demo', () => {
  it('takes a directory through the whole line and cleans up, without sqlite3', async () => {
    const { status, output, complaints } = await finish(home.start());
    assert.equal(status, 0, output + complaints);
    assert.match(output, /The web server was asked for 2 files\. All 2 files stored equal their source/);
    assert.match(output, /nothing has changed[\s\S]*The web server was asked for 0 files/);
    assert.match(complaints, /lcccpstate: 1 new, 1 changed, 1 deleted, 0 unchanged/);
    const changes = output.split('\n').filter(line => /^(upsert|delete)\t/.test(line));
    assert.equal(changes.filter(line => line.startsWith('delete\t')).length, 1);
    assert.equal(changes.length, 3);
    assert.match(output, /MATCH 'axolotl'.*\nhttp:\/\/127\.0\.0\.1:\d+\/new\.html\n/);
    assert.match(output, /MATCH 'quokka'.*\nhttp:/);
    assert.match(output, /ORDER BY rank"\n\(nothing\)\n/);
    assert.deepEqual(readdirSync(home.temporary), []);
  });
});
