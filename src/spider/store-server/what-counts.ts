/** Changes of records that are kept together. Of each document the last record counts, but a document that
 * was fetched well stays until another one is: a failure says only what became of the last attempt. */
import type { DocumentRow, HeldDocument } from '../../db/spider/documents.js';
import type { ReceivedRecord, Content } from './received-record.js';

/** A record that is put into another file, for little of its own is needed any more. */
interface Move {
  kind: 'move';
  docId: number;
  from: Pick<HeldDocument, 'file' | 'position'>;
  /** As it was received. */
  content: Content & { kind: 'short' };
  bytes: number;
}

export type Item = ReceivedRecord | Move;

/** A row that is written. */
export interface RowChange {
  row: DocumentRow;
  before: DocumentRow | undefined;
  /** Content that goes into a file; `row.held` says where only when there is one. */
  content: Content | undefined;
}

interface RowChanges {
  changes: RowChange[];
  /** Records that others of the same documents came after, or that change nothing. */
  needless: Content[];
}

/** @param known the row of a document as it is */
export function changesOf(
  items: readonly Item[],
  known: (docId: number) => DocumentRow | undefined,
  nowMs: number,
): RowChanges {
  const changes = new Map<number, RowChange>();
  const needless: Content[] = [];
  for (const item of items) {
    const docId = item.kind === 'move' ? item.docId : item.last.docId;
    const earlier = changes.get(docId);
    const before = earlier === undefined ? known(docId) : earlier.before;
    const current = earlier === undefined ? before : earlier.row;
    const row = item.kind === 'move' ? movedRow(item, current) : rowAfter(item, current, nowMs);
    const bringsContent = row !== undefined && row.held !== current?.held && row.held?.docBytes !== 0;
    if (!bringsContent) needless.push(item.content);
    if (row === undefined) continue;
    const replaces = row.held !== current?.held;
    if (replaces && earlier?.content !== undefined) needless.push(earlier.content);
    const content = bringsContent ? item.content : replaces ? undefined : earlier?.content;
    changes.set(docId, { row, before, content });
  }
  return { changes: [...changes.values()], needless };
}

/** Undefined: it changes nothing. */
function rowAfter(
  received: ReceivedRecord,
  current: DocumentRow | undefined,
  nowMs: number,
): DocumentRow | undefined {
  const { last, docBytes, md5 } = received;
  if (current !== undefined && isSame(received, current)) return undefined;
  const held: HeldDocument | undefined = takesPlace(received, current?.held)
    ? { docBytes, md5, isGood: last.success, file: null, position: 0, storedBytes: 0 }
    : current?.held;
  return { ...last, atMs: nowMs, held };
}

/** True if the document of a record takes the place of one that is held. */
function takesPlace({ last, docBytes }: ReceivedRecord, held: HeldDocument | undefined): boolean {
  return last.success === 1 || (docBytes > 0 && held?.isGood !== 1);
}

/** True if the record was kept before: one that is sent again, because its acknowledgement was lost. */
function isSame(received: ReceivedRecord, current: DocumentRow): boolean {
  const { last, docBytes, md5 } = received;
  const { held } = current;
  return (
    current.url === last.url &&
    current.newUrl === last.newUrl &&
    current.success === last.success &&
    current.reason === last.reason &&
    current.http === last.http &&
    current.durationMs === last.durationMs &&
    (!takesPlace(received, held) ||
      (held?.docBytes === docBytes && held.md5 === md5 && held.isGood === last.success))
  );
}

/** Undefined: the document has been replaced meanwhile. */
function movedRow({ from }: Move, current: DocumentRow | undefined): DocumentRow | undefined {
  const held = current?.held;
  if (current === undefined || held === undefined) return undefined;
  if (held.file !== from.file || held.position !== from.position) return undefined;
  return { ...current, held: { ...held } };
}
