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
const isKnown = existsSync(listFile) && position.cursor !== undefined;
const titles = new Map(isKnown ? Object.entries(JSON.parse(readFileSync(listFile, 'utf8'))) : []);
/** Changes in `titles` that are not in the file yet, and the cursor of the last one. */
let unsaved = 0;
let reached = position.cursor;

try {
  const changes = lcc.changes({
    cursor: isKnown ? position.cursor : undefined,
    deleted: 'yes',
    mime: 'text/*',
    follow: follow === 'follow',
    signal: stop.signal,
    // Nothing more for now: the cursor given is also past what is no text.
    caughtUp: save,
  });
  for await (const change of changes) {
    // Keyed by the row's id: a page whose URL changed leaves no old entry.
    titles.delete(String(change.id));
    if (change.op === 'upsert' && change.burl !== '') titles.set(String(change.id), entryOf(change));
    reached = change.cursor;
    // The file is written whole: as much must have changed as it holds, or many changes would write it very often.
    if (++unsaved >= Math.max(1000, titles.size / 2)) save(reached);
  }
} catch (error) {
  if (error.name !== 'AbortError') throw error;
  if (unsaved > 0) save(reached);
} finally {
  position.close();
  lcc.close();
}

/** First the list, then the cursor: a death between the two repeats some changes, which does no harm. */
function save(cursor) {
  if (unsaved > 0) {
    writeFileSync(`${listFile}.tmp`, `${JSON.stringify(Object.fromEntries(titles), undefined, 1)}\n`, {
      flush: true,
    });
    renameSync(`${listFile}.tmp`, listFile);
    unsaved = 0;
  }
  position.save(cursor);
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
