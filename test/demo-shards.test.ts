import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish } from './support/demo.js';
import { noEngine } from './support/engine.js';

let home: DemoHome;

beforeEach(() => void (home = new DemoHome()));
afterEach(() => home.remove());

describe('the demo of two homes', { skip: noEngine }, () => {
  it('moves two providers, pulls the plug of their machine meanwhile, loses nothing, and ends all that it started', async () => {
    const { status, output, complaints } = await finish(
      home.start('shards', {
        // Its engine is a system's own.
        PATH: `${process.env['PATH']}:/usr/sbin:/sbin`,
        // Ports that other tests have are taken.
        LCC_TEST_SHARED: process.env['LCC_TEST_SHARED'] ?? tmpdir(),
      }),
    );
    assert.equal(status, 0, output + complaints);
    assert.match(output, /^1\t\S+\t2\t0\tyes$/m);
    assert.match(output, /^home 1, owned by 127\.0\.0\.1:\d+$/m);
    assert.match(output, /^of these lost: 0$/m);
    assert.match(output, /^most requests at a provider at once: 1$/m);
    assert.match(output, /^else amiss: nothing$/m);
    assert.deepEqual(readdirSync(home.temporary), []);
  });
});
