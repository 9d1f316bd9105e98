import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish } from './support/demo.js';

describe('the demo of vectors', () => {
  let home: DemoHome;
  beforeEach(() => void (home = new DemoHome()));
  afterEach(() => home.remove());

  it('embeds a site once, then an edited paragraph, and nothing for a footer or a page that is gone', async () => {
    const { status, output, complaints } = await finish(home.start('vectors'));
    assert.equal(status, 0, output + complaints);
    const counts = [...(output + complaints).matchAll(/^(\d+) pages: (\d+) embedded, (\d+) taken over$/gm)];
    assert.deepEqual(
      counts.map(([, ...numbers]) => numbers.map(Number)),
      [
        [8, 48, 0],
        [1, 1, 5],
        [8, 0, 48],
        [1, 0, 0],
      ],
    );
    assert.match(output, /--limit=2 'restore a dump'\nAll about backup > backup > Part 3\n/);
    assert.doesNotMatch(output.slice(output.lastIndexOf('== A page is gone')), /replication\.html/);
  });
});
