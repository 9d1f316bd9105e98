#!/usr/bin/env node
// usage: search.mjs INDEX.json WORDS…   prints the browse URLs of the pages with all of them, best first
import { readFileSync } from 'node:fs';
import MiniSearch from 'minisearch';
import { OPTIONS } from './options.mjs';

// A reader such as head has enough: the rest is not wanted.
process.stdout.on('error', error => process.exit(error.code === 'EPIPE' ? 0 : 74));
const [file, ...words] = process.argv.slice(2);
const index = MiniSearch.loadJSON(readFileSync(file, 'utf8'), OPTIONS);
for (const { burl } of index.search(words.join(' '), { combineWith: 'AND' })) console.log(burl);
