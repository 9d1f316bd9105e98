/** The whole site in, what changed out. Nothing leaves before the whole input has been read and judged, and
 * before the state that goes with it stands on disk as pending (state/pending.ts). */
import { hostname } from 'node:os';
import { LccError } from '../lib/errors.js';
import { LineSorter } from '../lib/line-sorter.js';
import type { Advance } from '../lib/progress.js';
import type { Output } from '../lib/stdio.js';
import type { XmlLimits } from '../lib/xml/types.js';
import { mayDelete, together, type Coverage } from '../wire/coverage.js';
import { STREAM_END, streamHead } from '../wire/url-stream.js';
import { refuseMassDeletion, type DeletionLimit } from './deletion-limit.js';
import { FULL_OF_STATES } from './full-set.js';
import { compare, type Changes, type Why } from './state/compare.js';
import { Doubt } from './state/doubt.js';
import { holdState } from './state/hold.js';
import { refuseEmptySite, SiteInput } from './state/input.js';
import { tidy } from './state/kept.js';
import { keyOf, markedUnseen, unseenSinceOf } from './state/lines.js';
import { MadeSet } from './state/outcome.js';
import { PendingWriter } from './state/pending.js';
import { Seen } from './state/seen.js';
import { Statefile } from './state/statefile.js';

interface StateOptions {
  statefile: string;
  /** Everything goes out, as a full set, instead of what changed. */
  full: boolean;
  commitNow: boolean;
  allowEmpty: boolean;
  /** Other pipes announce for the same provider: the state is never sent as all there is of it. */
  isShare: boolean;
  maxDelete: DeletionLimit;
  /** Urls that no list has named for that long are dropped from the state, where lists name parts of the site
   * only; undefined: none. */
  forgetMs?: number | undefined;
  nowMs: number;
  /** Urls that are gone and that sets in doubt alone name. */
  maxDoubtfulUrls: number;
  limits: XmlLimits;
  progress?: Advance | undefined;
  /** Told what is done, and of every url that goes out. */
  explain?: ((what: string) => void) | undefined;
}

export interface StateResult extends Changes {
  /** Records without a key. */
  rejected: number;
  /** How much of the site the input named: a part also where records were rejected. */
  coverage: Coverage;
  firstRun: boolean;
}

/**
 * @throws LccError `data.malformed`, `data.cut`, `data.refused` (nothing was written then), `io`,
 *   `output.create`, `try.later`
 */
export function updateState(
  chunks: Iterable<Buffer>,
  out: Output,
  given: StateOptions,
  complain: (message: string) => void,
): StateResult {
  let options = given;
  const old = new Statefile(options.statefile);
  // A file that was truncated would otherwise pass for a site that had nothing: what is gone since would stay
  // for ever.
  if (old.exists && old.bytes === 0 && !options.allowEmpty)
    throw new LccError(
      'data.malformed',
      `${old.path}: empty: restore it, or remove it to send every url again (--allow-empty: the site had none)`,
    );
  const release = holdState(old.path);
  const sorter = new LineSorter(old.path);
  let doubt: Doubt | undefined;
  let writer: PendingWriter | undefined;
  try {
    tidy(old.path);
    const seen = new Seen(old);
    const { urls, rejected, coverage, isWindow, isBlank } = readSite(chunks, seen, sorter, options, complain);
    if (isWindow) options = { ...given, isShare: true };
    const isPartial = !mayDelete(coverage);
    if (options.isShare && options.full)
      throw new LccError(
        'data.refused',
        '--full: other pipes or earlier lists announce for the provider, too, and a full set of this one would remove what they have announced; ' +
          FULL_OF_STATES,
      );
    if (isPartial && options.full)
      throw new LccError(
        'data.refused',
        '--full: the input names a part of the site only, and a full set of it would remove the rest; run again when the list is whole',
      );
    if (!options.allowEmpty && (!isPartial || rejected > 0)) refuseEmptySite(urls, isBlank);
    const base = { rejected, coverage, firstRun: !old.exists };
    // After the input has been read, which takes longest: runs that ended meanwhile are settled.
    doubt = Doubt.of(old.path, old.mode);

    for (const { path } of doubt.sets) options.explain?.(`in doubt: ${path}`);

    const isSettled = old.exists && doubt.isEmpty;
    const isPlain = seen.isComplete || (isPartial && options.forgetMs === undefined);
    // Nothing of a part: nothing is known, and there may be no state that could be kept.
    if ((isSettled && isPlain && sorter.isEmpty) || (isPartial && urls === 0)) {
      sendSame(out, options, old, isPartial);
      const none = { added: 0, changed: 0, deleted: 0, again: 0, ghosts: 0, rewritten: 0 };
      return { ...none, unchanged: seen.taken, kept: seen.total - seen.taken, ...base };
    }

    seen.endTaking();
    const made = (writer = new PendingWriter(old.path, old.mode, {
      base: old.id,
      settles: doubt.sets.map(({ id }) => id),
    }));
    const delta = (line: string, why: Why): void => {
      made.writeSet(line);
      options.explain?.(`${why}: ${keyOf(line)}/>`);
    };
    const changes = compare(
      {
        lines: old.lines(),
        wasTaken: (_, n) => seen.wasTaken(n),
        doubtful: doubt.keys(),
        keep: isPartial ? line => keptUnseen(line, options) : undefined,
      },
      sorter.sorted(),
      { state: line => made.writeState(line), delta },
    );
    // Without a url, --allow-empty has permitted it.
    if (urls > 0) refuseMassDeletion(changes, options.maxDelete);
    const differences = changes.added + changes.changed + changes.deleted + changes.rewritten;
    if (isSettled && differences === 0) sendSame(out, options, old, isPartial);
    else sendMade(out, options, old, made, changes, isPartial);
    return { ...changes, ...base };
  } finally {
    writer?.close();
    doubt?.close();
    sorter.close();
    old.close();
    release();
  }
}

function readSite(
  chunks: Iterable<Buffer>,
  seen: Seen,
  sorter: LineSorter,
  options: StateOptions,
  complain: (message: string) => void,
): { urls: number; rejected: number; coverage: Coverage; isWindow: boolean; isBlank: boolean } {
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
  // A record without its key may have named anything that was there before.
  const coverage = together(input.coverage, rejected > 0 ? 'part' : 'all');
  const { isBlank } = input;
  return { urls: seen.taken + others, rejected, coverage, isWindow: input.coverage === 'window', isBlank };
}

/** A line of the state that a part of the site does not name, as the next state has it; undefined: it is
 * forgotten. */
function keptUnseen(line: string, { forgetMs, nowMs }: StateOptions): string | undefined {
  if (forgetMs === undefined) return line;
  const nowS = Math.floor(nowMs / 1000);
  const sinceS = unseenSinceOf(line);
  if (sinceS === undefined) return markedUnseen(line, nowS);
  return nowS - sinceS >= forgetMs / 1000 ? undefined : line;
}

/** @throws LccError `try.later` when too many urls are known by sets in doubt alone */
function refuseGhosts({ ghosts }: Changes, { full, maxDoubtfulUrls }: StateOptions): void {
  if (full || ghosts <= maxDoubtfulUrls) return;
  throw new LccError(
    'try.later',
    `${ghosts} urls that are gone were in sets of which it is not known whether they were accepted, more than ` +
      'cp.max_doubtful_urls; send everything, once, with --full',
  );
}

/** The state is its own successor. */
function sendSame(out: Output, options: StateOptions, old: Statefile, isPartial: boolean): void {
  out.write(Buffer.from(headOf(options, old, '', isPartial)));
  if (options.full) for (const chunk of old.chunks()) out.write(chunk);
  out.write(STREAM_END);
  out.flush();
}

/** Nothing is left of a set whose end was not written: nobody can have acted on it. */
function sendMade(
  out: Output,
  options: StateOptions,
  old: Statefile,
  made: PendingWriter,
  changes: Changes,
  isPartial: boolean,
): void {
  refuseGhosts(changes, options);
  made.finish();
  try {
    // As bytes: the statefile's path is text, what follows came as bytes and goes as such.
    out.write(Buffer.from(headOf(options, old, made.id, isPartial)));
    for (const chunk of made.chunks(options.full ? 'state' : 'set')) out.write(chunk);
    if (options.full) out.write(STREAM_END);
    out.flush();
  } catch (error) {
    MadeSet.find({ state: old.path, id: made.id }).forget();
    throw error;
  }
  if (!options.commitNow) return;
  const set = MadeSet.find({ state: old.path, id: made.id });
  set.aboutToSend();
  if (!set.commit())
    throw new LccError('try.later', `${old.path}: replaced by another run; nothing was committed`);
}

function headOf(
  { full, commitNow, isShare }: StateOptions,
  { path, id: base }: Statefile,
  id: string,
  isPartial: boolean,
): string {
  return streamHead({
    from: 'lcccpstate',
    set: full ? 'full' : 'partial',
    // A state that knows a part of the site must not be sent as all there is.
    ...(isPartial ? { whole: 'no' } : {}),
    ...(commitNow ? {} : { state: path, id, base, host: hostname() }),
    ...(isShare ? { share: 'yes' } : {}),
  });
}

/**
 * Makes the state of the last set the statefile, where what delivered it, successfully, could not: on another
 * machine.
 * @returns false where there is no set
 * @throws LccError `try.later` where it is not known which of several was delivered
 */
export function commitLast(statefile: string): boolean {
  const { path } = new Statefile(statefile);
  const set = MadeSet.last(path);
  if (set === undefined) return false;
  set.aboutToSend();
  if (set.commit()) return true;
  throw new LccError(
    'try.later',
    `${path}: replaced by another run; nothing was committed, the next run sends the difference again`,
  );
}
