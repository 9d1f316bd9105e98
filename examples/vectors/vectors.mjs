#!/usr/bin/env node
// Keeps a table of vectors in step with an LCC: lccq … --stay --format=chunks -- node vectors.mjs FILE [--embed='CMD ARGS']
// A page is one transaction, at its `delete` line. Texts whose vector is there, by `hash`, wherever they stand, are not embedded.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { Embedder, Failure, nameOf } from './embedder.mjs';
import { makeVectors, metaOf, openTable, setMeta } from './table.mjs';

const { values, positionals } = parseArgs({ options: { embed: { type: 'string' } }, allowPositionals: true });
const [file] = positionals;
if (file === undefined) end(64, "usage: vectors.mjs FILE [--embed='CMD ARGS']");
const db = openTable(file);
const count = { pages: 0, embedded: 0, taken: 0 };
const lccq = process.ppid;
// Where lccq is gone the input ends as well.
process.stdout.on('error', () => {});

function end(status, message) {
  process.stderr.write(`vectors: ${message}\n`);
  process.exit(status);
}

/** A process that is killed closes its pipes before its children have another parent: PF_EXITING of proc(5) says so. */
function isLccqThere() {
  if (process.ppid !== lccq || process.platform !== 'linux') return process.ppid === lccq;
  const [, , , , , , flags] = readFileSync(`/proc/${lccq}/stat`, 'latin1').split(') ').at(-1).split(' ');
  return (Number(flags) & 4) === 0;
}

const model = nameOf(values.embed);
const known = metaOf(db, 'model');
if (known !== undefined && known !== model)
  end(78, `${file} has vectors of ${known}, not of ${model}; remove it and the cursor to begin again`);
if (values.embed === undefined) process.stderr.write('vectors: hashed words, no model; --embed names one\n');
const embedder = new Embedder(values.embed);

let sql;
function prepare() {
  sql ??= {
    of: db.prepare('SELECT rowid, hash FROM chunks WHERE doc = ? AND n = ?'),
    rows: db.prepare('SELECT rowid FROM chunks WHERE doc = ? AND n >= ?').pluck(),
    all: db.prepare('SELECT rowid FROM chunks').pluck(),
    there: db.prepare('SELECT vector FROM vectors WHERE rowid = (SELECT rowid FROM chunks WHERE hash = ? LIMIT 1)').pluck(),
    kept: db.prepare('SELECT vector FROM kept WHERE hash = ?').pluck(),
    insert: db.prepare('INSERT INTO chunks(doc, n, url, title, headings, markdown, text, hash, page) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    remove: ['chunks', 'vectors', 'words'].map(table => db.prepare(`DELETE FROM ${table} WHERE rowid = ?`)),
    vector: db.prepare('INSERT INTO vectors(rowid, vector) VALUES (?, ?)'),
    words: db.prepare('INSERT INTO words(rowid, text, title) VALUES (?, ?, ?)'),
  };
  return sql;
}

function setSize(size) {
  const there = Number(metaOf(db, 'size') ?? size);
  if (there !== size) throw new Failure(78, `${file} has vectors of ${there} numbers, the embedder makes ${size}`);
  makeVectors(db, size);
  setMeta(db, 'size', size);
  setMeta(db, 'model', model);
}

/** Nothing is of this store any more; what was embedded may still be of use. */
const reset = db.transaction(() => {
  if (metaOf(db, 'size') === undefined) return;
  db.exec('INSERT OR IGNORE INTO kept SELECT hash, vector FROM chunks JOIN vectors ON vectors.rowid = chunks.rowid');
  for (const rowid of prepare().all.all()) for (const remove of sql.remove) remove.run(BigInt(rowid));
});

async function page(pieces, { doc, from }) {
  count.pages++;
  if (metaOf(db, 'size') === undefined && pieces.length === 0) return;
  const vectors = new Map();
  const missing = [];
  for (const { hash, text } of pieces) {
    if (vectors.has(hash)) continue;
    const vector = metaOf(db, 'size') === undefined ? undefined : (prepare().there.get(hash) ?? sql.kept.get(hash));
    vectors.set(hash, vector);
    if (vector === undefined) missing.push({ hash, text });
  }
  const made = await embedder.vectorsOf(missing.map(({ text }) => text));
  for (const size of new Set(made.map(({ length }) => length))) setSize(size);
  for (const [i, { hash }] of missing.entries()) vectors.set(hash, made[i]);
  const { of, rows, insert, remove, vector, words } = prepare();
  db.transaction(() => {
    for (const { n, url, title, headings, markdown, text, hash, page_number } of pieces) {
      const old = of.get(doc, n);
      if (old) for (const each of remove) each.run(BigInt(old.rowid));
      const { lastInsertRowid } = insert.run(doc, n, url, title, JSON.stringify(headings), markdown, text, hash, page_number);
      vector.run(BigInt(lastInsertRowid), vectors.get(hash));
      words.run(BigInt(lastInsertRowid), text, title);
    }
    for (const rowid of rows.all(doc, from)) for (const each of remove) each.run(BigInt(rowid));
  })();
  count.embedded += missing.length;
  count.taken += pieces.length - missing.length;
}

try {
  let pieces = [];
  let last = '';
  for await (const line of createInterface({ input: process.stdin })) {
    last = line;
    if (line === '') {
      process.stdout.write('ok\n');
      continue;
    }
    const record = JSON.parse(line);
    if (record.op === 'reset') reset();
    else if (record.op === 'upsert') pieces.push(record);
    else {
      await page(pieces.filter(({ doc }) => doc === record.doc), record);
      pieces = [];
    }
  }
  await embedder.close();
  // A run that was cut, or whose lccq was killed, has not told all pages: the next one goes on.
  if (last === '' && isLccqThere()) db.exec('DELETE FROM kept');
  process.stderr.write(`${count.pages} pages: ${count.embedded} embedded, ${count.taken} taken over\n`);
} catch (error) {
  end(error.status ?? 70, error.message);
}
db.close();
