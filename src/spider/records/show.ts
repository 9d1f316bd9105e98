/** A stream of records as it is shown: one a line, the document of one, or the records themselves. */
import { crc32 } from 'node:zlib';
import { LccError } from '../../lib/errors.js';
import type { Output } from '../../lib/stdio.js';
import { SPIDER_REASONS } from '../../wire/spider-codes.js';
import { RecordReader, type SpiderRecord } from '../../wire/spider-record.js';
import type { RecordFormat } from './formats.js';

/** Records before a bad byte are shown; then it is reported. */
export function writeLines(output: Output, chunks: Iterable<Buffer>, format: RecordFormat): void {
  const reader = new RecordReader();
  let begun: { record: SpiderRecord; offset: number } | undefined;
  let sum = 0;
  try {
    for (const chunk of chunks)
      for (const part of reader.read(chunk)) {
        if (part.kind === 'head') {
          begun = part;
          sum = 0;
        } else if (part.kind === 'body') {
          sum = crc32(part.bytes, sum);
        } else if (begun !== undefined) {
          output.write(format(begun.record, begun.offset, sum));
        }
      }
    reader.end();
  } finally {
    output.flush();
  }
}

export function writeBody(output: Output, chunks: Iterable<Buffer>, docId: number): void {
  const reader = new RecordReader();
  let isIt = false;
  for (const chunk of chunks)
    for (const part of reader.read(chunk)) {
      if (part.kind === 'head') {
        isIt = part.record.docId === docId;
        if (isIt && !part.record.success && part.record.docBytes === 0) throw notFetched(part.record);
      } else if (part.kind === 'body' && isIt) output.write(part.bytes);
      else if (part.kind === 'end' && isIt) return;
    }
  reader.end();
  throw new LccError('input.missing', `there is no record with doc_id ${docId}`);
}

function notFetched({ docId, reason }: SpiderRecord): LccError {
  const [number, says] = SPIDER_REASONS[reason];
  return new LccError('input.missing', `document ${docId} was not fetched: ${says} (${number})`);
}

/** Passes on what is well-formed. */
export function writeRecords(output: Output, chunks: Iterable<Buffer>): void {
  const reader = new RecordReader();
  for (const chunk of chunks)
    for (const part of reader.read(chunk)) if (part.kind !== 'end') output.write(part.bytes);
  reader.end();
}
