/** Records whose content is elsewhere, replaced meanwhile, missing, or not the one that was fetched. */
import type { CacheReader } from '../db/cache/read.js';
import { strangeStore } from '../db/names/store-mark.js';
import { LccError } from '../lib/errors.js';
import type { FormatContext } from './formats/types.js';
import type { Bringer } from './peers/bringer.js';
import type { Rejects } from './rejects.js';
import { openNamed, type ReadBuffer } from './stored-content.js';

/** Said to the operator of the LCC: the site may be somebody else's. */
const FETCH_AGAIN = 'stop lccd and run lccfsck --repair, which has it fetched again';
/** The same of content on another machine. */
const FETCH_AGAIN_THERE = 'stop lccd and run lccfsck --repair --recheck, which has it fetched again';

/** Opens contents; what cannot be had is left out, and counted or reported. @param buffer null: each
 * content has memory of its own @param bringer has brought what is on other machines */
export function contentOpener(
  reader: CacheReader,
  storeDir: string,
  rejects: Rejects,
  buffer: ReadBuffer | null,
  bringer?: Bringer,
): FormatContext['openContent'] {
  return ([curl, fileid, machine, md5], tell) => {
    if (fileid === null || fileid === undefined) {
      const found = bringer?.take(reader) ?? { why: undefined };
      if ('content' in found) return found.content;
      if (found.isReplaced === true) rejects.replaced++;
      else if (typeof found.why === 'string')
        leftOutThere(rejects, String(curl), String(machine), found.why, tell);
      else elsewhere(rejects, String(curl), String(machine), tell);
      return undefined;
    }
    const opened = openNamed(storeDir, String(fileid), String(md5), buffer ?? undefined);
    if (opened.ok) return opened.content;
    if (!reader.isHeldNow(String(fileid))) {
      // A slow reader meets files of rows that have been replaced since, and their grace is over
      // (bm.grace_ms).
      rejects.replaced++;
      return undefined;
    }
    // To fetch again what is only not mounted would be the wrong advice, thousands of times.
    if (!reader.canPointInto(storeDir))
      throw new LccError('config', `${storeDir}: ${strangeStore(reader.machineId)}`);
    leftOut(rejects, String(curl), `${storeDir}/${fileid}`, opened.why, tell);
    return undefined;
  };
}

type Tell = ((problem: string) => void) | undefined;

/** Reports a row whose content is on another machine. */
export function elsewhere(rejects: Rejects, curl: string, machine: string, tell: Tell): void {
  rejects.elsewhere(curl, machine);
  tell?.(`its content is on machine ${machine}`);
}

/** Reports a row whose content is missing or altered on another machine. */
export function leftOutThere(rejects: Rejects, curl: string, machine: string, why: string, tell: Tell): void {
  rejects.add(`${curl}: left out: its content on machine ${machine} is ${why}; ${FETCH_AGAIN_THERE}`);
  tell?.(`its content is ${why}`);
}

/** Reports a row whose content is missing or altered. */
export function leftOut(rejects: Rejects, curl: string, file: string, why: string, tell: Tell): void {
  rejects.add(`${curl}: left out: ${file} is ${why}; ${FETCH_AGAIN}`);
  tell?.(`its content is ${why}`);
}
