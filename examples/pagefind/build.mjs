#!/usr/bin/env node
// usage: build.mjs DIRECTORY <PAGES   (lines of `lccq --format=jsonl --text=all`)
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { close, createIndex } from 'pagefind';

/**
 * Pagefind keeps an index for each language, of which a browser asks one: that of its page. Here all pages are in one, so
 * that each is found from everywhere; words are stemmed as in this language.
 */
const LANGUAGE = process.env.PAGEFIND_LANGUAGE ?? 'en';
/** Of all pages. The index, about as large, comes in one message, which takes ten times its size of memory. */
const MAX_TEXT_MB = Number(process.env.PAGEFIND_MAX_MB ?? 128);

/** @throws Error when Pagefind reports any */
function sound({ errors, ...result }) {
  if (errors.length > 0) throw new Error(errors.join('; '));
  return result;
}

const { index } = sound(await createIndex({ forceLanguage: LANGUAGE }));
let textBytes = 0;
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { burl, title, text } = JSON.parse(line);
  if (burl === '' || text === null) continue;
  textBytes += Buffer.byteLength(text);
  if (textBytes > MAX_TEXT_MB * 1e6) {
    console.error(
      `build.mjs: pages have more than ${MAX_TEXT_MB} MB of text; see PAGEFIND_MAX_MB in README.md`,
    );
    process.exit(65);
  }
  const page = {
    url: burl,
    content: `${title}\n${text}`,
    language: LANGUAGE,
    meta: { title: title || burl },
  };
  sound(await index.addCustomRecord(page));
}
// Not by its writeFiles(): up to 1.5 that says it has written while it still writes, and its end is the end of that.
for (const { path, content } of sound(await index.getFiles()).files) {
  const file = join(process.argv[2], path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
}
await close();
