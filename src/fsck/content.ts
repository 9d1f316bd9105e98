/** Rows of the LCC DB against the files they point to. */
import { createHash } from 'node:crypto';
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { nameOf } from '../db/names/naming.js';
import type { ContentRow } from '../db/queue/refetch.js';
import { errnoOf } from '../lib/errors.js';
import type { CheckContext, Finding } from './types.js';

const PAGE_ROWS = 500;
const CONTENT_READ_BYTES = 256 * 1024;

/** Troubles of rows whose file belongs to no other row. */
const OWN_FILE: ReadonlySet<Finding['kind']> = new Set(['missing-file', 'altered-file']);

type Trouble = Pick<Finding, 'kind' | 'what'>;

export function* content(context: CheckContext): Generator<Finding> {
  const { look, machineId, strangeMachineId, known, extent, repairs, live, storeLost } = context;
  const buffer = Buffer.allocUnsafe(CONTENT_READ_BYTES);
  for (const page of look.content(PAGE_ROWS)) {
    const bad: { row: ContentRow; trouble: Trouble }[] = [];
    for (const row of page) {
      extent.rows++;
      if (row.fetched_machineid !== machineId) {
        if (row.fetched_machineid !== strangeMachineId) extent.elsewhere++;
        continue;
      }
      const trouble = troubleOf(context, row, buffer);
      // While the LCC runs, what was replaced since it was read is not missing.
      if (trouble !== undefined && (!live || isStillSo(context, row, trouble))) bad.push({ row, trouble });
      const name = nameOf(row.fetched_fileid);
      if (name !== undefined && (trouble === undefined || repairs === undefined)) known.add(name, 'held');
    }
    repairs?.fetchAgain(
      bad.map(({ row, trouble }) => ({
        row,
        file: OWN_FILE.has(trouble.kind) && !storeLost ? 'freed' : 'kept',
      })),
    );
    context.advance?.(page.length);
    for (const { row, trouble } of bad) {
      const where = `${row.fetched_fileid} (lccurl ${row.id}, ${row.curl})`;
      yield { ...trouble, where, repaired: repairs !== undefined };
    }
  }
}

function isStillSo({ look, machineId = '' }: CheckContext, row: ContentRow, { kind }: Trouble): boolean {
  return kind === 'shared-file' ? look.isShared(machineId, row.fetched_fileid) : look.isCurrent(row);
}

function troubleOf(context: CheckContext, row: ContentRow, buffer: Buffer): Trouble | undefined {
  const name = nameOf(row.fetched_fileid);
  if (name === undefined) return { kind: 'bad-fileid', what: 'no name of a file of a store' };
  if (context.known.useOf(name) === 'held')
    return { kind: 'shared-file', what: 'another row points to the same file' };
  return fileTrouble(context, row, buffer);
}

function fileTrouble(
  { storeDir, quick, extent }: CheckContext,
  row: ContentRow,
  buffer: Buffer,
): Trouble | undefined {
  let fd: number;
  try {
    fd = openSync(join(storeDir, row.fetched_fileid), 'r');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ENOTDIR')
      return { kind: 'missing-file', what: 'there is no such file' };
    throw error;
  }
  try {
    extent.files++;
    const { size } = fstatSync(fd);
    if (size !== row.len) return { kind: 'altered-file', what: `${size} bytes, the row says ${row.len}` };
    if (quick) return undefined;
    const md5 = createHash('md5');
    for (let bytes = readSync(fd, buffer); bytes > 0; bytes = readSync(fd, buffer)) {
      extent.bytes += bytes;
      md5.update(buffer.subarray(0, bytes));
    }
    const found = md5.digest('hex');
    return found === row.md5
      ? undefined
      : { kind: 'altered-file', what: `md5 ${found}, the row says ${row.md5}` };
  } catch (error) {
    if (errnoOf(error) === 'EISDIR') return { kind: 'altered-file', what: 'a directory' };
    if (errnoOf(error) === 'EIO') return { kind: 'altered-file', what: 'cannot be read: I/O error' };
    throw error;
  } finally {
    closeSync(fd);
  }
}
