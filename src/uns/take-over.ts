/**
 * The first start after another machine had the home (docs/design/keeping.md). No set that lies in the spool
 * was ever called accepted: CPs have sent them again since, to the other machine. Numbers that it has given
 * to connections are not all known here.
 */
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { noteEpoch, wasElsewhere } from '../daemon/noted-epoch.js';
import type { PidbReader } from '../db/providers/pidb-reader.js';
import { SessionStore } from '../db/spools/sessions.js';
import type { Log } from '../lib/log.js';
import type { Spool } from '../lib/spool.js';
import { step } from '../lib/steps.js';
import type { UnsOptions } from './options.js';

/** Far above what the other machine may have given to one provider since it was last heard of. */
const AHEAD = 1_000_000;

/** @param epoch 0 in a home without an engine */
export function emptyAfterTakeOver(
  epoch: number,
  { spoolDir, sessionsDb }: Pick<UnsOptions, 'spoolDir' | 'sessionsDb'>,
  { spool, pidb, log }: { spool: Spool; pidb: PidbReader; log: Log },
): void {
  if (epoch === 0) return;
  const sessionsFile = join(dirname(sessionsDb), 'epoch');
  const spoolFile = join(spoolDir, 'epoch');
  // Where nothing is noted this home had no engine so far: its spool is promised.
  if (wasElsewhere(sessionsFile, epoch, false)) {
    for (const more of ['', '-wal', '-shm']) rmSync(sessionsDb + more, { force: true });
    const sessions = new SessionStore(sessionsDb);
    sessions.raise(new Map(pidb.numbers().map(([pid, seq]) => [pid, seq + AHEAD])));
    sessions.close();
  }
  noteEpoch(sessionsFile, epoch);
  if (wasElsewhere(spoolFile, epoch, false)) {
    log.info('another machine had this home: sets in the spool are forgotten', {
      sets: spool.entries.length,
    });
    spool.clear();
    step('uns.spool.cleared');
  }
  noteEpoch(spoolFile, epoch);
}
