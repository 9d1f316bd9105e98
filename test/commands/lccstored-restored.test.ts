/** A store.db that is older than its files, or gone: nothing that was acknowledged is removed, and all of it is found again. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { copyFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { failureBytes, recordBytes, StoreHome } from '../support/store-server.js';

const homes: StoreHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

const LONG = 600_000;
const doc = (docId: number, version: string) =>
  docId % 7 === 3
    ? Buffer.concat([Buffer.from(version), randomBytes(LONG)])
    : Buffer.from(`${version} ${docId}`);

const needed = (home: StoreHome) => new Set(home.rows().map(row => row.path));
const onlyNeeded = (home: StoreHome) => home.files().every(file => needed(home).has(file));

/** A store, and what it was when half of its documents had come. */
async function halfAndWhole(args: readonly string[] = [], signal: NodeJS.Signals = 'SIGTERM') {
  const home = new StoreHome();
  homes.push(home);
  await home.start(args);
  const send = async (from: number, version: string) => {
    for (let docId = from; docId < from + 20; docId += 5)
      await home.keep(
        ...Array.from({ length: 5 }, (_, n) =>
          recordBytes({ docId: docId + n, doc: doc(docId + n, version) }),
        ),
      );
  };
  await send(0, 'first');
  await send(20, 'first');
  await home.daemon.stop();
  const half = join(home.dir, 'half.db');
  copyFileSync(join(home.store, 'store.db'), half);
  await home.start(args);
  // Files of the first ones go, are emptied, and new ones come.
  await send(0, 'second');
  await send(40, 'first');
  await home.untilStatus('files that nothing refers to are gone', () => onlyNeeded(home));
  await home.daemon.stop(signal);
  await home.daemon.ended;
  return { home, half, documents: home.documents() };
}

function remove(home: StoreHome): void {
  for (const name of readdirSync(home.store))
    if (/^store\.db(-\w+)?$/.test(name)) rmSync(join(home.store, name));
}

async function wholeAgain(
  home: StoreHome,
  documents: ReadonlyMap<number, Buffer>,
  args: readonly string[] = [],
) {
  await home.start(args);
  const found = home.documents();
  assert.deepEqual([...found.keys()], [...documents.keys()]);
  for (const [docId, bytes] of documents) assert.ok(found.get(docId)?.equals(bytes), String(docId));
  assert.match(home.daemon.log, /store\.db did not agree with the files of records, which were read back/);
}

describe('lccstored with another store.db than the one it served last', () => {
  for (const compress of ['none', 'gzip'])
    for (const signal of ['SIGTERM', 'SIGKILL'] as const)
      it(`reads back what an older one does not know, and says so (${compress}, after ${signal})`, async () => {
        const args = [`--compress=${compress}`];
        const { home, half, documents } = await halfAndWhole(args, signal);
        remove(home);
        copyFileSync(half, join(home.store, 'store.db'));
        await wholeAgain(home, documents, args);
        const noticed =
          signal === 'SIGTERM'
            ? /an older copy was put back/
            : /an older copy was|a copy was put in its place/;
        assert.match(home.daemon.log, noticed);
        // The same store goes on.
        assert.deepEqual(await home.keep(recordBytes({ docId: 1000, doc: 'more' })), [1000]);
        assert.equal(home.documents().size, documents.size + 1);
      });

  it('makes one that was removed again from the files, and one that was emptied', async () => {
    const { home, documents } = await halfAndWhole(['--compress=gzip']);
    remove(home);
    await wholeAgain(home, documents);
    assert.match(home.daemon.log, /another database than the one served last/);
    await home.daemon.stop();
    remove(home);
    writeFileSync(join(home.store, 'store.db'), '');
    await wholeAgain(home, documents);
  });

  it('does so without the marks as well', async () => {
    const { home, half, documents } = await halfAndWhole();
    remove(home);
    for (const name of readdirSync(home.store)) if (name.includes('.last-')) rmSync(join(home.store, name));
    copyFileSync(half, join(home.store, 'store.db'));
    await wholeAgain(home, documents);
  });

  it('notices an older one that lacks nothing but failures, and keeps what it can', async () => {
    const home = new StoreHome();
    homes.push(home);
    await home.start();
    await home.keep(recordBytes({ docId: 1, doc: 'one' }));
    await home.daemon.stop();
    copyFileSync(join(home.store, 'store.db'), join(home.dir, 'older.db'));
    await home.start();
    await home.keep(failureBytes(1));
    await home.daemon.stop();
    remove(home);
    copyFileSync(join(home.dir, 'older.db'), join(home.store, 'store.db'));
    await home.start();
    assert.match(home.daemon.log, /an older copy was put back/);
    assert.equal(home.documents().get(1)?.toString(), 'one');
  });

  it('says nothing where the database is the one that was served, stopped or killed', async () => {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      const { home, documents } = await halfAndWhole([], signal);
      await home.start();
      assert.doesNotMatch(home.daemon.log, /put back|read back|served last/);
      assert.equal(home.documents().size, documents.size);
    }
  });

  it('reads what stands before the damage of a file, and never removes that', async () => {
    const { home, documents } = await halfAndWhole();
    await home.daemon.ended;
    const [path] = home.rows().flatMap(row => (row.path !== null && row.pos > 0 ? [row.path] : []));
    assert.ok(path !== undefined);
    const first = home
      .rows()
      .filter(row => row.path === path)
      .toSorted((a, b) => a.pos - b.pos)[1];
    assert.ok(first !== undefined);
    const bytes = readFileSync(join(home.store, path));
    bytes[first.pos + 7] = 1;
    writeFileSync(join(home.store, path), bytes);
    remove(home);
    await home.start();
    assert.match(home.daemon.log, /a file of records is damaged: .*"records":1/);
    assert.equal(home.documents().size < documents.size, true);
    await home.keep(...home.rows().map(({ doc_id }) => recordBytes({ docId: doc_id, doc: 'third' })));
    await home.untilStatus('other files are gone', () =>
      home.files().every(file => file === path || needed(home).has(file)),
    );
    assert.ok(home.files().includes(path));
  });
});
