#!/usr/bin/env node
// Lines of `lccq --format=jsonl --text=all` → SphinxQL, one transaction. Pages are known by the id of their row.
import { createInterface } from 'node:readline';

const quote = text => `'${text.replace(/[\\']/g, '\\$&').replace(/[\0\r\n]/g, ' ')}'`;

console.log('BEGIN;');
for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { op, id, burl, title, text } = JSON.parse(line);
  if (op === 'delete' || burl === '' || text === null) console.log(`DELETE FROM pages WHERE id = ${id};`);
  else
    console.log(
      `REPLACE INTO pages(id, title, text, burl) VALUES (${id}, ${quote(title)}, ${quote(text)}, ${quote(burl)});`,
    );
}
console.log('COMMIT;');
