/**
 * The whole site in, what changed out. Nothing leaves before the whole input has been read and judged, and before the
 * state that goes with it stands on disk as pending (state/pending.ts).
 */
import { closeSync, openSync } from 'node:fs';
import { LccError } from '../lib/errors.js';
import type { Advance } from '../lib/progress.js';
import { readChunksAt, type Output } from '../lib/stdio.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { STREAM_END, streamHead } from '../wire/url-stream.js';
import { compare, type Changes } from './state/compare.js';
import { refuseEmpty, SiteInput } from './state/input.js';
import { commitPending, PendingWriter, type PendingState } from './state/pending.js';
import { Seen } from './state/seen.js';
import { LineSorter } from './state/sorter.js';
import { Spill } from './state/spill.js';
import { Statefile } from './state/statefile.js';

export interface StateOptions {
  statefile: string;
  /** Everything goes out, as a full set, instead of what changed. */
  full: boolean;
  commitNow: boolean;
  allowEmpty: boolean;
  maxDelete: DeletionLimit;
  limits: XmlLimits;
  progress?: Advance | undefined;
}

/** How many urls of the old state may go at once: a number, or a share that small sites are exempt from. */
export type DeletionLimit =
  { urls: number } | { percent: number; /** States with fewer urls are not judged. */ exemptBelow: number };

export interface StateResult extends Changes {
  /** Records without a key. */
  rejected: number;
  firstRun: boolean;
}

/**
 * @throws LccError `data.malformed`, `data.cut`, `data.refused` (nothing was written then), `io`, `output.create`
 */
export function updateState(
  chunks: Iterable<Buffer>,
  out: Output,
  options: StateOptions,
  complain: (message: string) => void,
): StateResult {
  const old = new Statefile(options.statefile);
  // A file that was truncated would otherwise pass for a site that had nothing: what is gone since would stay for ever.
  if (old.exists && old.bytes === 0 && !options.allowEmpty)
    throw new LccError(
      'data.malformed',
      `${old.path}: empty: restore it, or remove it to send every url again (--allow-empty: the site had none)`,
    );
  const sorter = new LineSorter(old.path);
  let delta: Spill | undefined;
  let writer: PendingWriter | undefined;
  try {
    const seen = new Seen(old);
    const { urls, rejected } = readSite(chunks, seen, sorter, options, complain);
    if (!options.allowEmpty) refuseEmpty(urls);
    const base = { rejected, firstRun: !old.exists };

    if (old.exists && seen.isComplete && sorter.isEmpty) {
      // The state is its own successor.
      send(out, options, { state: old.path, pending: old.path, id: '' }, undefined);
      return { added: 0, changed: 0, deleted: 0, unchanged: seen.total, ...base };
    }

    writer = new PendingWriter(old.path, old.mode);
    const pendingWriter = writer;
    const deltaSpill = (delta = new Spill(old.path));
    const changes = compare(old.lines(), sorter.sorted(), (_, offset) => seen.wasTaken(offset), {
      state: line => pendingWriter.write(line),
      delta: line => deltaSpill.write(`${line}\n`),
    });
    refuseMassDeletion(changes, options, urls === 0);
    send(out, options, writer.finish(), delta);
    return { ...changes, ...base };
  } finally {
    writer?.discard();
    delta?.close();
    sorter.close();
    old.close();
  }
}

function readSite(
  chunks: Iterable<Buffer>,
  seen: Seen,
  sorter: LineSorter,
  options: StateOptions,
  complain: (message: string) => void,
): { urls: number; rejected: number } {
  let others = 0;
  let rejected = 0;
  const input = new SiteInput(
    {
      line: line => {
        others += 1;
        sorter.add(line);
      },
      rejected: what => {
        rejected += 1;
        complain(what);
      },
    },
    seen,
    options.limits,
  );
  for (const chunk of chunks) {
    const before = seen.taken + others;
    input.write(chunk);
    options.progress?.(seen.taken + others - before);
  }
  input.end();
  return { urls: seen.taken + others, rejected };
}

function refuseMassDeletion(changes: Changes, options: StateOptions, emptyIsPermitted: boolean): void {
  const { maxDelete } = options;
  const before = changes.changed + changes.deleted + changes.unchanged;
  if (emptyIsPermitted) return;
  const isTooMuch =
    'urls' in maxDelete
      ? changes.deleted > maxDelete.urls
      : before >= maxDelete.exemptBelow && changes.deleted * 100 > maxDelete.percent * before;
  if (!isTooMuch) return;
  const limit = 'urls' in maxDelete ? String(maxDelete.urls) : `${maxDelete.percent} %`;
  throw new LccError(
    'data.refused',
    `${changes.deleted} of ${before} urls would be deleted, more than ${limit}; ` +
      'is the site all there? (--max-delete=N or N% permits more)',
  );
}

function send(out: Output, options: StateOptions, pending: PendingState, delta: Spill | undefined): void {
  const isNew = pending.pending !== pending.state;
  const head = streamHead({
    from: 'lcccpstate',
    set: options.full ? 'full' : 'partial',
    ...(options.commitNow ? {} : { state: pending.state, pending: pending.pending }),
    ...(options.commitNow || !isNew ? {} : { id: pending.id }),
  });
  // As bytes: the statefile's path is text, what follows came as bytes and goes as such.
  out.write(Buffer.from(head));
  if (options.full) {
    const fd = openSync(pending.pending, 'r');
    try {
      for (const chunk of readChunksAt(fd, 0, pending.pending)) out.write(chunk);
    } finally {
      closeSync(fd);
    }
  } else if (delta !== undefined) {
    for (const chunk of delta.chunks()) out.write(chunk);
  }
  out.write(STREAM_END);
  out.flush();
  if (options.commitNow && !commitPending(pending))
    throw new LccError('try.later', `${pending.pending}: replaced by another run; nothing was committed`);
}
