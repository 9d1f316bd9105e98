/** names.db of a store that is put back older, emptied or removed. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Store } from '../../src/bm/store.js';
import { readStoreWord } from '../../src/db/names/store-mark.js';
import { newDir, open, write } from './store-scene.js';

describe('a store whose names.db is not the one served last', () => {
  for (const [how, stop] of [
    ['stopped', (store: Store) => store.close()],
    ['killed', () => undefined],
  ] as const)
    it(`refuses an older names.db that was put back after it was ${how}; moved away, no name is given twice`, () => {
      const dir = newDir();
      const before = newDir();
      const first = open(dir);
      const held = [write(first.store), write(first.store)];
      first.store.close();
      copyFileSync(join(dir, 'names.db'), join(before, 'names.db'));
      const second = open(dir);
      for (let n = 0; n < 10; n++) held.push(write(second.store));
      second.store.delete(held[0]?.fileId ?? '', () => undefined);
      second.clock.advance(61_000);
      second.clock.advance(1000);
      stop(second.store);
      // As they are at a kill: with the log, of which a copy alone would know nothing.
      const killed = newDir();
      cpSync(dir, killed, { recursive: true });
      for (const name of ['names.db-wal', 'names.db-shm']) rmSync(join(killed, name), { force: true });
      copyFileSync(join(before, 'names.db'), join(killed, 'names.db'));
      for (let n = 0; n < 2; n++)
        assert.throws(() => open(killed), {
          code: 'config',
          message: /names\.db: an? (older )?copy was put .*, or stop lccd-bm and move it out of the store/,
        });
      for (const name of ['names.db', 'names.db-wal', 'names.db-shm'])
        rmSync(join(killed, name), { force: true });
      const { store, events } = open(killed);
      const given = new Set(held.map(({ fileId }) => fileId));
      for (let n = 0; n < 10; n++) {
        const { fileId } = write(store);
        assert.ok(!given.has(fileId), fileId);
        given.add(fileId);
      }
      assert.match(events.join(), /names\.db: missing although there is content; new ids begin far beyond/);
      store.close();
      if (how === 'killed') second.store.close();
      const again = open(killed);
      assert.deepEqual(again.events, []);
      again.store.close();
    });

  it('begins beyond the ids that marks know, where names.db was emptied or removed and no content is left', () => {
    for (const empty of [true, false]) {
      const dir = newDir();
      const first = open(dir);
      const { path } = write(first.store);
      first.store.close();
      rmSync(path);
      for (const name of ['names.db', 'names.db-wal', 'names.db-shm'])
        rmSync(join(dir, name), { force: true });
      if (empty) writeFileSync(join(dir, 'names.db'), '');
      const { store } = open(dir);
      assert.ok((store.take()?.id ?? 0) >= 2 ** 24);
      store.close();
    }
  });

  it('says how often its names were opened, and another word each time; from the beginning when they are new', () => {
    const dir = newDir();
    const words = [1, 2].map(() => {
      const { store } = open(dir);
      store.close();
      return readStoreWord(store.word);
    });
    assert.deepEqual(
      words.map(({ starts }) => starts),
      [1, 2],
    );
    assert.equal(words[0]?.id, words[1]?.id);
    assert.notEqual(words[0]?.run, words[1]?.run);
    rmSync(join(dir, 'names.db'));
    const { store } = open(dir);
    assert.equal(readStoreWord(store.word).starts, 1);
    store.close();
  });
});
