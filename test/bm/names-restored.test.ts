/** names.db of a store that is put back older, emptied or removed. */
import assert from 'node:assert/strict';
import { copyFileSync, cpSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { Store } from '../../src/bm/store.js';
import { StoreRegister } from '../../src/db/cache/stores.js';
import { readStoreWord } from '../../src/db/names/store-mark.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { newDir, open, write } from './store-scene.js';

const removeNames = (dir: string): void => {
  for (const name of ['names.db', 'names.db-wal', 'names.db-shm']) rmSync(join(dir, name), { force: true });
};

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
      removeNames(killed);
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
      removeNames(dir);
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

  it('has content read again when its names were made again, however often they were opened until anybody heard of it', () => {
    const dir = newDir();
    const db = openDatabase(join(newDir(), 'lcc.db'));
    const register = new StoreRegister(db);
    const wordOf = () => {
      const { store } = open(dir);
      if (store.freeNames === 0) write(store);
      store.close();
      return readStoreWord(store.word);
    };
    const first = wordOf();
    register.remember('m1', first.id);
    const heard = (word: typeof first) => {
      const isOlder = register.isOlder('m1', word);
      register.noteSynced('m1', 5);
      if (!isOlder) register.noteRun('m1', word);
      return isOlder ? 'older' : register.synced('m1') === 5 ? 'the same' : 'read again';
    };
    assert.equal(heard(first), 'the same');
    for (let n = 0; n < 3; n++) wordOf();
    assert.equal(heard(wordOf()), 'the same');
    let before = wordOf();
    for (const unheard of [0, 1, 4]) {
      removeNames(dir);
      for (let n = 0; n < unheard; n++) wordOf();
      assert.equal(heard(wordOf()), 'read again', `opened ${unheard} times before`);
      assert.equal(heard(wordOf()), 'the same');
      assert.equal(heard(before), 'older');
      before = wordOf();
    }
    db.close();
  });
});
