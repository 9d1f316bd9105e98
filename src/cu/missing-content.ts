/** Records whose content is elsewhere, replaced meanwhile, missing, or not the one that was fetched. */
import type { ColumnValue } from '../db/cache/fields.js';
import type { CacheReader } from '../db/cache/read.js';
import { strangeStore } from '../db/names/store-mark.js';
import { LccError } from '../lib/errors.js';
import type { FormatContext } from './formats/types.js';
import type { Bringer, FoundThere } from './peers/bringer.js';
import type { Rejects } from './rejects.js';
import { openNamed, type ReadBuffer } from './stored-content.js';

/** Said to the operator of the LCC: the site may be somebody else's. */
const FETCH_AGAIN = 'stop lccd and run lccfsck --repair, which has it fetched again';
/** The same of content on another machine. */
const FETCH_AGAIN_THERE = 'stop lccd and run lccfsck --repair --recheck, which has it fetched again';

/** The content of a row, here or brought from another machine; or why it is not to be had. @param fileid its
 * name below the store here @param bringer has brought what is on other machines */
export function contentOf(
  reader: Pick<CacheReader, 'isHeldNow'>,
  storeDir: string,
  [fileid, md5]: readonly (ColumnValue | undefined)[],
  { buffer, bringer }: { buffer?: ReadBuffer | undefined; bringer?: Bringer | undefined },
): FoundThere {
  if (typeof fileid !== 'string') return bringer?.take(reader) ?? { why: undefined };
  const opened = openNamed(storeDir, fileid, String(md5), buffer);
  // A slow reader meets files of rows that have been replaced since, and their grace is over (bm.grace_ms).
  return opened.ok ? opened : { why: opened.why, isReplaced: !reader.isHeldNow(fileid) };
}

/** Opens contents; what cannot be had is left out, and counted or reported. @param buffer null: each
 * content has memory of its own */
export function contentOpener(
  reader: CacheReader,
  storeDir: string,
  rejects: Rejects,
  buffer: ReadBuffer | null,
  bringer?: Bringer,
): FormatContext['openContent'] {
  return (values, tell) => {
    const [, fileid, , md5] = values;
    const found = contentOf(reader, storeDir, [fileid, md5], { buffer: buffer ?? undefined, bringer });
    if ('content' in found) return found.content;
    const file = typeof fileid === 'string' ? `${storeDir}/${fileid}` : undefined;
    // To fetch again what is only not mounted would be the wrong advice, thousands of times.
    if (file !== undefined && found.isReplaced !== true && !reader.canPointInto(storeDir))
      throw new LccError('config', `${storeDir}: ${strangeStore(reader.machineId)}`);
    leaveOut(rejects, values, file, found, tell);
    return undefined;
  };
}

/** Counts, or reports, a row whose content cannot be had. @param values those of `CONTENT_COLUMNS` @param
 * file undefined: it is on another machine */
export function leaveOut(
  rejects: Rejects,
  [curl, , machine]: readonly (ColumnValue | undefined)[],
  file: string | undefined,
  { why, isReplaced }: Exclude<FoundThere, { content: unknown }>,
  tell: ((problem: string) => void) | undefined,
): void {
  if (isReplaced === true) {
    rejects.replaced++;
  } else if (file === undefined && typeof why !== 'string') {
    rejects.elsewhere(String(curl), String(machine));
    tell?.(`its content is on machine ${machine}`);
  } else {
    const where =
      file === undefined
        ? `its content on machine ${machine} is ${why}; ${FETCH_AGAIN_THERE}`
        : `${file} is ${why}; ${FETCH_AGAIN}`;
    rejects.add(`${curl}: left out: ${where}`);
    tell?.(`its content is ${why}`);
  }
}
