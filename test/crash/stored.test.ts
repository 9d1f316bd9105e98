/** lccstored killed at each durable step: what it acknowledged is there, and what is sent again makes the store whole. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { recordBytes, StoreHome } from '../support/store-server.js';

const homes: StoreHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function newHome(): StoreHome {
  const home = new StoreHome();
  homes.push(home);
  return home;
}

const docs = Array.from({ length: 40 }, (_, i) => randomBytes(i % 8 === 7 ? 400_000 : i * 300));
const records = docs.map((doc, docId) => recordBytes({ docId, doc }));

describe('a kill of lccstored', () => {
  for (const step of [
    'stored.file.synced:1',
    'stored.file.synced:3',
    'stored.file.named:2',
    'stored.committed:2',
    'stored.acknowledged:2',
  ])
    it(`after ${step} loses nothing that was acknowledged`, async () => {
      const home = newHome();
      const daemon = await home.start([], { LCC_CRASH_AT: step });
      const spider = home.spider();
      // Group after group.
      for (let n = 0; n < records.length; n += 5) {
        await spider.send(...records.slice(n, n + 5));
        if (!(await spider.acked(n + 5))) break;
      }
      assert.equal(await daemon.ended, 'SIGKILL');
      await spider.over;
      const { acks } = spider;
      assert.ok(acks.length < records.length);
      await home.start();
      const found = home.documents();
      for (const docId of acks)
        assert.ok(found.get(docId)?.equals(docs[docId] ?? Buffer.alloc(0)), String(docId));
      assert.deepEqual(home.drafts(), []);
      const referred = new Set(home.rows().flatMap(({ path }) => (path === null ? [] : [path])));
      assert.deepEqual(home.files(), [...referred].toSorted(), 'no file is left that no row refers to');
      // As its spider does: from the first that was not acknowledged on.
      assert.equal((await home.keep(...records.slice(acks.length))).length, records.length - acks.length);
      const whole = home.documents();
      for (const [docId, doc] of docs.entries()) assert.ok(whole.get(docId)?.equals(doc), String(docId));
    });

  it('after stored.mark.noted, as it ends, is none that the next start takes for an older copy', async () => {
    const home = newHome();
    const daemon = await home.start([], { LCC_CRASH_AT: 'stored.mark.noted:2' });
    assert.equal((await home.keep(...records)).length, records.length);
    daemon.child.kill('SIGTERM');
    assert.equal(await daemon.ended, 'SIGKILL');
    await home.start();
    assert.doesNotMatch(home.daemon.log, /put back|put in its place/);
    assert.equal(home.documents().size, records.length);
  });

  it('happens in this order: synced, named, committed, acknowledged', async () => {
    const home = newHome();
    const log = join(home.dir, 'steps');
    await home.start([], { LCC_STEP_LOG: log });
    await home.keep(...records);
    const steps = readFileSync(log, 'utf8').trim().split('\n');
    const names = steps
      .map(line => line.split(' ')[1])
      .filter(name => name?.startsWith('stored.') && name !== 'stored.mark.noted');
    const group = ['stored.file.synced', 'stored.file.named', 'stored.committed', 'stored.acknowledged'];
    assert.ok(names.length > 0 && names.length % group.length === 0);
    for (const [n, name] of names.entries()) assert.equal(name, group[n % group.length]);
  });
});
