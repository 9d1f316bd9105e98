#!/usr/bin/env node
// Searches by meaning and by words, both ranked into one list: node search.mjs FILE [--limit=N] [--json] WORDS…
import { parseArgs } from 'node:util';
import { Embedder, nameOf } from './embedder.mjs';
import { metaOf, openTable } from './table.mjs';

const EACH = 50;
/** Reciprocal rank fusion: how much less the second counts than the first. */
const DAMPING = 60;

const { values, positionals } = parseArgs({
  options: { limit: { type: 'string', default: '5' }, json: { type: 'boolean' } },
  allowPositionals: true,
});
const [file, ...words] = positionals;
const query = words.join(' ');
if (file === undefined || query === '') {
  process.stderr.write('usage: search.mjs FILE [--limit=N] [--json] WORDS…\n');
  process.exit(64);
}
const db = openTable(file);
const model = metaOf(db, 'model');
if (model === undefined) {
  process.stderr.write(`search: ${file} is empty; vectors.mjs fills it\n`);
  process.exit(66);
}
const embedder = new Embedder(model === nameOf(undefined) ? undefined : model);
const [vector] = await embedder.vectorsOf([query]);
embedder.close();
const terms = (query.match(/[\p{L}\p{N}]+/gu) ?? []).map(term => `"${term}"`).join(' OR ');
// Words first: of two hits with equal scores the one with the very words is better.
const lists = [
  terms === '' ? [] : db.prepare('SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank LIMIT ?').pluck().all(terms, EACH),
  db.prepare('SELECT rowid FROM vectors WHERE vector MATCH ? AND k = ? ORDER BY distance').pluck().all(vector, EACH),
];
const scores = new Map();
for (const list of lists)
  for (const [rank, rowid] of list.entries()) scores.set(rowid, (scores.get(rowid) ?? 0) + 1 / (DAMPING + rank + 1));
const piece = db.prepare('SELECT url, title, headings, markdown, text, page FROM chunks WHERE rowid = ?');
const hits = [...scores]
  .sort(([, one], [, other]) => other - one)
  .slice(0, Number(values.limit))
  .map(([rowid, score]) => ({ score, ...piece.get(rowid) }))
  .map(({ page, ...hit }) => ({ ...hit, url: page ? `${hit.url}#page=${page}` : hit.url, headings: JSON.parse(hit.headings) }));
if (values.json) process.stdout.write(`${JSON.stringify(hits)}\n`);
else
  for (const { url, title, headings, text } of hits)
    process.stdout.write(`${[...new Set([title, ...headings])].filter(name => name !== '').join(' > ') || url.replace(/.*\//, '')}\n  ${url}\n  ${text.slice(text.indexOf('\n') + 1, 200).replaceAll('\n', ' ')}\n`);
db.close();
