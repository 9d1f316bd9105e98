#!/usr/bin/env node
// usage: build.mjs DIRECTORY <PAGES   (lines of `lccq --format=jsonl --text`)
import { createInterface } from 'node:readline';
import { close, createIndex } from 'pagefind';

/**
 * Pagefind keeps an index for each language, of which a browser asks one: that of its page. Here all pages are in one, so
 * that each is found from everywhere; words are stemmed as in this language.
 */
const LANGUAGE = process.env.PAGEFIND_LANGUAGE ?? 'en';

/** @throws Error when Pagefind reports any */
function sound({ errors, ...result }) {
  if (errors.length > 0) throw new Error(errors.join('; '));
  return result;
}

const { index } = sound(await createIndex({ forceLanguage: LANGUAGE }));
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { burl, title, text } = JSON.parse(line);
  if (burl === '' || text === null) continue;
  const page = {
    url: burl,
    content: `${title}\n${text}`,
    language: LANGUAGE,
    meta: { title: title || burl },
  };
  sound(await index.addCustomRecord(page));
}
sound(await index.writeFiles({ outputPath: process.argv[2] }));
await close();
