#!/usr/bin/env node
// Lines of `lccq --format=jsonl --text=all` → commands of Groonga. Pages are known by the id of their row.
import { createInterface } from 'node:readline';

for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const { op, id, burl, title, text } = JSON.parse(line);
  if (op === 'delete' || burl === '' || text === null) console.log(`delete --table Pages --key ${id}`);
  else console.log(`load --table Pages\n[\n${JSON.stringify({ _key: id, burl, title, text })}\n]`);
}
