#!/usr/bin/env node
// usage: search.mjs DIRECTORY WORDS   asks the index as a browser does, over HTTP, and prints the browse URLs found
import { createServer } from 'node:http';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [directory, ...words] = process.argv.slice(2);
const server = createServer((request, response) => {
  try {
    response.end(readFileSync(join(directory, new URL(request.url, 'http://localhost').pathname)));
  } catch {
    response.writeHead(404).end();
  }
});
await new Promise(done => void server.listen(0, '127.0.0.1', done));
const pagefind = await import(pathToFileURL(resolve(directory, 'pagefind.js')).href);
await pagefind.options({ basePath: `http://127.0.0.1:${server.address().port}/`, baseUrl: '/' });
const { results } = await pagefind.search(words.join(' '));
// A reader such as head has enough: the rest is not wanted.
process.stdout.on('error', error => process.exit(error.code === 'EPIPE' ? 0 : 74));
// The engine completes words, as for somebody who is still typing: `auto` would find `automatic`. Here words are whole.
const isMeant = ({ content, meta }) => {
  const found = wordsOf(`${meta?.title ?? ''} ${content}`);
  return [...wordsOf(words.join(' '))].every(word => found.some(other => isSame(word, other)));
};
for (const result of results) {
  const page = await result.data();
  if (isMeant(page)) console.log(page.url);
}
server.closeAllConnections();
server.close();

function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/** The same word, but for its ending: the index is stemmed. */
function isSame(word, other) {
  const stem = text => text.replace(/(?:e?s|ed|ing|ly)$/, '');
  return word === other || stem(word) === stem(other);
}
