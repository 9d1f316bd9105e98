import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish } from './support/demo.js';

let home: DemoHome;

beforeEach(() => void (home = new DemoHome()));
afterEach(() => home.remove());

describe('the demo of pushes', () => {
  it('has a page that is new, one that has changed and one that is gone with a consumer at once; and ends its servers', async () => {
    const { status, output, complaints } = await finish(home.start('push'));
    assert.equal(status, 0, output + complaints);
    const seen = [...output.matchAll(/^After .* the consumer has: (\{.*\})$/gm)].map(([, line = '']) => {
      return (JSON.parse(line) as { op: string }).op;
    });
    assert.deepEqual(seen, ['upsert', 'upsert', 'delete', 'upsert', 'upsert']);
    assert.match(output, /^204$/m);
    assert.equal(output.match(/^\{"errorCode":"Ok","message":"","accepted":1,"refused":0\}$/gm)?.length, 3);
    assert.match(output, /^\{"errorCode":"InvalidKey",/m);
    assert.match(output, /^The web server was asked for: \/not-the-key-of-it\.txt 404$/m);
    assert.match(output, /^\{"errorCode":"UnknownHost",/m);
    assert.match(output, /indexnow +3 sent, 1 refused, 3 fetched: 2 changed, 0 as before, 1 gone$/m);
    assert.match(output, /feed +2 sent, 0 refused, 2 fetched: 2 changed, 0 as before, 0 gone$/m);
    assert.deepEqual(readdirSync(home.temporary), []);
  });
});
