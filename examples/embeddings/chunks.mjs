#!/usr/bin/env node
// Cuts pages into pieces that an embedding model can take: the JSON lines of `lccq --format=jsonl --text` on standard
// input, JSON lines on standard output.
//
//   {"op":"delete","document":17}                        forget every piece of it; before each upsert, too
//   {"op":"upsert","document":17,"id":"17.0","url":"…","title":"…","language":"en","text":"…"}
//
// Documents are keyed by their id in the LCC, which is never used again, so the same lines twice change nothing.
//
//   node chunks.mjs [SIZE [OVERLAP]]   characters of a piece, and of it what the next one repeats (1500, 200)
import { createInterface } from 'node:readline';

const [size = 1500, overlap = 200] = process.argv.slice(2).map(Number);
if (!(size > overlap && overlap >= 0)) {
  console.error('chunks.mjs: give SIZE and OVERLAP, e.g. 1500 200');
  process.exit(64);
}

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const page = JSON.parse(line);
  const document = page.id;
  await say({ op: 'delete', document });
  // What nobody can be shown (an empty burl) is nothing to be found either.
  if (page.op === 'delete' || page.burl === '' || !page.text) continue;
  let n = 0;
  for (const text of piecesOf(page.text)) {
    const { burl: url, title, language } = page;
    await say({ op: 'upsert', document, id: `${document}.${n++}`, url, title, language, text });
  }
}

/** Ends a piece at the end of a paragraph, else of a sentence, else of a word, else where it must. */
function* piecesOf(text) {
  for (let at = 0; at < text.length;) {
    const end = text.length - at <= size ? text.length : at + cutOf(text.slice(at, at + size));
    yield text.slice(at, end).trim();
    if (end === text.length) return;
    // The next one begins with a whole word of this one.
    const again = text.slice(Math.max(at + 1, end - overlap), end).search(/\s/);
    at = overlap > 0 && again >= 0 ? Math.max(at + 1, end - overlap) + again + 1 : end;
  }
}

function cutOf(window) {
  const least = window.length / 2;
  const paragraph = window.lastIndexOf('\n') + 1;
  if (paragraph > least) return paragraph;
  const sentences = [...window.matchAll(/[.!?。！？]["'”’)]*\s|[。！？]/gu)];
  const sentence = sentences.at(-1);
  if (sentence !== undefined && sentence.index + sentence[0].length > least)
    return sentence.index + sentence[0].length;
  const word = window.lastIndexOf(' ') + 1;
  if (word > least) return word;
  // Not between the halves of a character.
  return /[\ud800-\udbff]$/.test(window) ? window.length - 1 : window.length;
}

function say(piece) {
  if (process.stdout.write(`${JSON.stringify(piece)}\n`)) return undefined;
  return new Promise(resolve => process.stdout.once('drain', resolve));
}
