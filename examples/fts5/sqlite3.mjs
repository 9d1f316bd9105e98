#!/usr/bin/env node
// A stand-in for the sqlite3 shell where it is not installed: SQL as an argument, else on standard input, rows on
// standard output. `lccq --cursor=F --format=fts5-sql -- node sqlite3.mjs -bail index.db`
import { openSqlite } from '../../dist/src/lib/sqlite.js';

const [file, sql] = process.argv.slice(2).filter(argument => argument !== '-bail');
if (file === undefined) {
  console.error('usage: sqlite3.mjs [-bail] FILE [SQL]');
  process.exit(64);
}
const db = openSqlite(file);
try {
  if (sql === undefined) {
    const chunks = [];
    for await (const chunk of process.stdin) chunks.push(chunk);
    db.exec(Buffer.concat(chunks).toString());
  } else {
    const statement = db.prepare(sql);
    if (!statement.reader) statement.run();
    else for (const row of statement.raw().iterate()) console.log(row.join('|'));
  }
} catch (error) {
  console.error(`sqlite3.mjs: ${error.message}`);
  process.exitCode = 1;
} finally {
  db.close();
}
