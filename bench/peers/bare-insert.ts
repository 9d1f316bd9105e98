/** A bare insert: `node bare-insert.js DATABASE FILE` puts lines `id, type, target` into the queue in one transaction. */
import { readFileSync } from 'node:fs';
import Database from 'better-sqlite3';

const [path = '', file = ''] = process.argv.slice(2);
const db = new Database(path);
db.pragma('synchronous = FULL');
const insert = db.prepare(
  `INSERT INTO clear_cache_queue(content_id, content_type, target, force, source, enqueued_ms) VALUES (?, ?, ?, 0, 'stdin', ?)`,
);
db.transaction(() => {
  for (const line of readFileSync(file, 'utf8').trimEnd().split('\n'))
    insert.run(...line.split('\t'), Date.now());
})();
db.close();
