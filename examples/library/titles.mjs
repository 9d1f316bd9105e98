// Keeps a list of the titles of an LCC's pages in step with it: `node titles.mjs LIST CURSOR [follow]`.
// LIST is a file of JSON, CURSOR one that `lccq --cursor` understands. Run again it goes on where it was, whatever
// ended it; with `follow` it stays, until SIGINT or SIGTERM.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { LccError, openCursor, openLcc, pageTextOf } from 'lcc';

const [listFile, cursorFile, follow] = process.argv.slice(2);
const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => stop.abort());

const lcc = openLcc();
const position = openCursor(cursorFile);
const titles = existsSync(listFile) && position.cursor ? JSON.parse(readFileSync(listFile, 'utf8')) : {};

try {
  const changes = lcc.changes({
    cursor: position.cursor,
    deleted: 'yes',
    mime: 'text/*',
    follow: follow === 'follow',
    signal: stop.signal,
  });
  for await (const change of changes) {
    // Keyed by the row's id: a page whose URL changed leaves nothing behind.
    delete titles[change.id];
    if (change.op === 'upsert' && change.burl !== '') titles[change.id] = entryOf(change);
    // First the list, then the cursor: a death between the two repeats a change, which does no harm.
    writeFileSync(`${listFile}.tmp`, `${JSON.stringify(titles, undefined, 1)}\n`);
    renameSync(`${listFile}.tmp`, listFile);
    position.save(change.cursor);
  }
} catch (error) {
  if (error.name !== 'AbortError') throw error;
} finally {
  position.close();
  lcc.close();
}

function entryOf(change) {
  try {
    return { url: change.burl, title: pageTextOf(change)?.title ?? '' };
  } catch (error) {
    // Changed again since: that change comes, too.
    if (error instanceof LccError && error.code === 'input.missing') return { url: change.burl, title: '' };
    throw error;
  }
}
