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
for (const result of results) console.log((await result.data()).url);
server.closeAllConnections();
server.close();
