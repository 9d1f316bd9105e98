import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish } from './support/demo.js';

let home: DemoHome;

beforeEach(() => void (home = new DemoHome()));
afterEach(() => home.remove());

describe('the demo of the Spider', () => {
  it('has a URL server in Python drive a spider, through a kill of the store server; and ends its servers', async () => {
    const { status, output, complaints } = await finish(home.start('spider'));
    assert.equal(status, 0, output + complaints);
    assert.equal(output.match(/^\d+ of \d+ done; the longest silence about a url was /gm)?.length, 2);
    assert.equal(output.match(/^All [1-9]\d* documents equal their pages; 1 url failed/gm)?.length, 2);
    assert.match(output, /^1\t1\t0\t200\t\d+\thttp:\S+\n2\t/m);
    assert.match(output, /^\d+\t0\t10\t404\t0\thttp:\S+\/missing\.html$/m);
    assert.match(output, /^The spider has fetched all of it, and says that nothing is done/m);
    assert.match(output, /^All of it took \d+ seconds/m);
    assert.deepEqual(readdirSync(home.temporary), []);
  });
});
