#!/usr/bin/env node
// usage: index.mjs INDEX.json <DELTA   (lines of `lccq --format=jsonl --text=all`)
// The new index takes the old one's place whole. Pages are known by the id of their row.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import MiniSearch from 'minisearch';
import { OPTIONS } from './options.mjs';

const file = process.argv[2];
const index = existsSync(file)
  ? MiniSearch.loadJSON(readFileSync(file, 'utf8'), OPTIONS)
  : new MiniSearch(OPTIONS);
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { op, id, burl, title, text } = JSON.parse(line);
  if (index.has(id)) index.discard(id);
  if (op !== 'delete' && burl !== '' && text !== null) index.add({ id, burl, title, text });
}
await index.vacuum();
writeFileSync(`${file}.new`, JSON.stringify(index), { flush: true });
renameSync(`${file}.new`, file);
