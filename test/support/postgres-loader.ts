/** Keeps a table of PGlite with the statements of examples/vectors/README.md: `lccq … -- node postgres-loader.js FOLDER EMBEDDER`. */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openPostgres, postgresStatements, VECTORS } from './vector-table.js';

interface Piece {
  doc: number;
  n: number;
  url: string;
  title: string;
  text: string;
  hash: string;
}
interface Embedder {
  vectorsOf(texts: string[]): Promise<Iterable<number>[]>;
  close(): void;
}
const { Embedder } = (await import(join(VECTORS, 'embedder.mjs'))) as {
  Embedder: new (command: string) => Embedder;
};
const [folder = '', command = ''] = process.argv.slice(2);
const { reset, there, upsert, remove, schema } = postgresStatements();
const db = await openPostgres(folder);
const { rows } = await db.query("SELECT 1 FROM pg_class WHERE relname = 'chunks_hash_idx'");
if (rows.length === 0) await db.transaction(async tx => void (await tx.exec(schema.join('\n'))));
const embedder = new Embedder(command);

let pieces: Piece[] = [];
for await (const line of createInterface({ input: process.stdin })) {
  if (line === '') {
    process.stdout.write('ok\n');
    continue;
  }
  const record = JSON.parse(line) as Piece & { op: string; from: number };
  if (record.op === 'reset') await db.exec(reset);
  else if (record.op === 'upsert') pieces.push(record);
  else {
    const vectors = new Map<string, string>();
    for (const { hash, text } of pieces) {
      if (vectors.has(hash)) continue;
      const [row] = (await db.query<{ embedding: string }>(there, [hash])).rows;
      const [made = []] = row === undefined ? await embedder.vectorsOf([text]) : [];
      vectors.set(hash, row?.embedding ?? JSON.stringify([...made]));
    }
    await db.transaction(async tx => {
      for (const { doc, n, url, title, text, hash } of pieces)
        await tx.query(upsert, [doc, n, url, title, text, hash, vectors.get(hash)]);
      await tx.query(remove, [record.doc, record.from]);
    });
    pieces = [];
  }
}
embedder.close();
await db.close();
