/**
 * Compares a home with what the engine has, page by page, while work goes on: a page that was shipped
 * meanwhile is left out.
 *
 *     sums of the engine up to n ──▶ sums of the home ──▶ rest is shipped ──▶ pages of n + 1 … left out
 */
import { hash } from 'node:crypto';
import type { KeptName } from '../config/kept.js';
import type { Ledger } from '../db/engine/ledger.js';
import { LccError } from '../lib/errors.js';
import { filePieces } from './file-pieces.js';
import { OpenLog } from './open-log.js';
import { decodePiece, type PagePiece } from './piece.js';
import { BEGINNING } from './place.js';

const SUM_BYTES = 16;

/** The sum of each page, in memory: 16 bytes for each. */
class PageSums {
  #sums = Buffer.alloc(0);
  filePages = 0;

  put({ pages, filePages }: PagePiece): void {
    this.filePages = filePages;
    if (this.#sums.length < filePages * SUM_BYTES)
      this.#sums = Buffer.concat([this.#sums, Buffer.alloc(filePages * SUM_BYTES)]);
    for (const [number, page] of pages)
      if (number <= filePages) hash('md5', page, 'buffer').copy(this.#sums, (number - 1) * SUM_BYTES);
  }

  of(number: number): string {
    return this.#sums.toString('hex', (number - 1) * SUM_BYTES, number * SUM_BYTES);
  }
}

/**
 * @param settled resolves when all that is committed by then is in the engine
 * @returns numbers of the pages that differ
 * @throws LccError `try.later` when the engine has no base, or got a new one meanwhile; `data.malformed`
 */
export async function differingPages(
  { name, path, ledger }: { name: KeptName; path: string; ledger: Ledger },
  settled: () => Promise<void>,
  stop: AbortSignal,
): Promise<number[]> {
  const begun = await ledger.state(name, stop);
  if (begun === undefined || begun.base === 0)
    throw new LccError('try.later', `${name}: no base is complete yet`);
  const engine = new PageSums();
  for await (const { i, data } of ledger.base(name, begun.base, stop))
    engine.put(decodePiece(data, `base ${i}`));
  for await (const { n, data } of ledger.log(name, begun.base, begun.n, stop))
    engine.put(decodePiece(data, `shipment ${n}`));
  const home = await homeSums(path);
  await settled();
  const ended = await ledger.state(name, stop);
  const touched = new Set<number>();
  for await (const { n, data } of ledger.log(name, begun.n, ended?.n ?? 0, stop)) {
    const { pages, filePages } = decodePiece(data, `shipment ${n}`);
    for (const number of pages.keys()) touched.add(number);
    engine.filePages = filePages;
  }
  if ((await ledger.state(name, stop))?.base !== begun.base)
    throw new LccError('try.later', `${name}: the engine got a new base meanwhile; run again`);
  return Array.from({ length: engine.filePages }, (_, i) => i + 1).filter(
    number => !touched.has(number) && engine.of(number) !== home.of(number),
  );
}

async function homeSums(path: string): Promise<PageSums> {
  const sums = new PageSums();
  // Guards keep the log as it is.
  const open = OpenLog.open(path);
  try {
    for await (const piece of filePieces(path)) sums.put(piece);
    const look = open?.look(BEGINNING);
    if (open === undefined || look === undefined) return sums;
    const start = open.file.placeAfter(look.header, 0);
    const changes = await open.file.changes(look.header, start, look.frames);
    for await (const piece of open.file.pieces(changes)) sums.put(decodePiece(piece, path));
    return sums;
  } finally {
    open?.close();
  }
}
