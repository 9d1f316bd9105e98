import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlStore } from '../../../src/db/sqlite/sql-store.js';
import { openSqlite } from '../../../src/lib/sqlite.js';

class Shelf extends SqlStore {
  readonly put = this.sql.insert<[book: { title: string; year: number | null }]>(
    'INSERT INTO book(title, year) VALUES ($title, $year)',
  );
  readonly date = this.sql.run<[year: number, title: string]>('UPDATE book SET year = ? WHERE title = ?');
  readonly rename = this.sql.changed<[title: string, id: number]>('UPDATE book SET title = ? WHERE id = ?');
  readonly clear = this.sql.changes<[beforeYear: number]>('DELETE FROM book WHERE year < ?');
  readonly get = this.sql.row<[id: number], { title: string }>('SELECT title FROM book WHERE id = ?');
  readonly wordsOf = this.sql.row<[id: number], { title: string }, string[]>(
    'SELECT title FROM book WHERE id = ?',
    ({ title }) => title.split(' '),
  );
  readonly all = this.sql.rows<[], { title: string }>('SELECT title FROM book ORDER BY id');
  readonly lengths = this.sql.rows<[], { title: string }, number>(
    'SELECT title FROM book ORDER BY id',
    ({ title }) => title.length,
  );
  readonly yearOf = this.sql.value<[id: number], number>('SELECT year FROM book WHERE id = ?');
  readonly firstYear = this.sql.number('SELECT min(year) FROM book');
  readonly titles = this.sql.values<[], string>('SELECT title FROM book ORDER BY id');
  readonly has = this.sql.has<[title: string]>('SELECT 1 FROM book WHERE title = ?');
}

function emptyShelf(): Shelf {
  const db = openSqlite(':memory:');
  db.exec('CREATE TABLE book(id INTEGER PRIMARY KEY, title TEXT NOT NULL, year INTEGER)');
  return new Shelf(db);
}

test('the statements of a store are its methods, and give what their kind says', () => {
  const shelf = emptyShelf();
  assert.equal(shelf.firstYear(), 0, 'of no row, or NULL');
  assert.deepEqual([shelf.get(1), shelf.wordsOf(1), shelf.yearOf(1)], [undefined, undefined, undefined]);
  assert.equal(shelf.put({ title: 'Dead Souls', year: null }), 1);
  assert.equal(shelf.put({ title: 'The Nose', year: 1836 }), 2);
  assert.equal(shelf.yearOf(1), undefined, 'NULL');
  shelf.date(1842, 'Dead Souls');
  assert.deepEqual([shelf.yearOf(1), shelf.firstYear()], [1842, 1836]);
  assert.deepEqual([shelf.get(1), shelf.wordsOf(1)], [{ title: 'Dead Souls' }, ['Dead', 'Souls']]);
  assert.deepEqual(
    [shelf.all(), shelf.lengths()],
    [
      [{ title: 'Dead Souls' }, { title: 'The Nose' }],
      [10, 8],
    ],
  );
  assert.deepEqual([shelf.rename('The Coat', 2), shelf.rename('The Coat', 3)], [true, false]);
  assert.deepEqual([shelf.titles(), shelf.has('The Coat')], [['Dead Souls', 'The Coat'], true]);
  assert.deepEqual([shelf.clear(1900), shelf.clear(1900), shelf.has('The Coat')], [2, 0, false]);
});

test('a store of a database without its tables cannot be made', () => {
  assert.throws(() => new Shelf(openSqlite(':memory:')), /no such table/);
});
