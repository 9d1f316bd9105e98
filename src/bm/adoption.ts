/**
 * Content of another shard is here as well from now on: a hard link to its file under a name of this store,
 * or a copy where that is on another file system. The homes of a machine lie side by side (lcc-cluster(7)),
 * their stores alike, or the others lie in the folder of home 0, which was the only one once:
 *
 *     /var/lib/lcc/0/store/ab/cd/00abcd1e.0 ──link──▶ /var/lib/lcc/1/store/00/07/0000071e.2
 *     /var/lib/lcc/store/ab/cd/00abcd1e.0   ──link──▶ /var/lib/lcc/1/store/00/07/0000071e.2
 *
 * No path comes from a peer: a shard is a number, and a file is a name as stores have them. A content that is
 * asked for again, for an answer or what became of it was lost, gets another name, and the file of the first
 * goes: no row points to it, or the row has gone.
 */
import { constants, type Stats } from 'node:fs';
import { copyFile, link, lstat, unlink } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { MAX_SHARD } from '../config/shards.js';
import type { Name } from '../db/names/names.js';
import { fileIdOf, nameOf } from '../db/names/naming.js';
import { readStoreMark } from '../db/names/store-mark.js';
import { errnoOf } from '../lib/errors.js';
import { setNewest } from '../lib/newest.js';
import type { AdoptRequest, UpkeepResult } from '../wire/upkeep.js';
import { NO_FILE, type StoreUpkeep } from './upkeep.js';

/** A store, as it is needed here. */
interface AdoptingStore {
  readonly dir: string;
  readonly machineId: string;
  readonly upkeep: StoreUpkeep;
  /** The name that each content of another shard has got here: the newest ones, by shard and file. */
  readonly adopted: Map<string, Name>;
  full(): boolean;
  take(): Name | undefined;
  pathOf(name: Name): string;
  stored(bytes: number): void;
  discard(name: Name): void;
}

/** Contents remembered for being asked for again. */
const MOST_ADOPTED = 10_000;
/** Errors where only a copy can do it: another file system, or one without such links, or with too many. */
const NO_LINK: ReadonlySet<string | undefined> = new Set(['EXDEV', 'EPERM', 'EMLINK', 'ENOTSUP']);

/** Folders that a shard's store on this machine may have. */
function storesBeside(dir: string, shard: number): string[] {
  const beside = join(dir, '..', '..', String(shard), basename(dir));
  const above = join(dir, '..', '..', basename(dir));
  return [beside, shard === 0 ? above : join(dir, '..', String(shard), basename(dir))];
}

/** `bad`: there is no such content; `unable`: it could not be had now; `nowhere`: there is no such store. */
export async function adopt(
  store: AdoptingStore,
  { shard, fileId, md5, len }: AdoptRequest,
): Promise<Pick<UpkeepResult, 'status' | 'fileId'>> {
  if (nameOf(fileId) === undefined || shard < 0 || shard > MAX_SHARD) return { status: 'bad' };
  let from: string;
  let file: Stats;
  try {
    const isOurs = (dir: string) => readStoreMark(dir)?.machineId === store.machineId;
    const dir = storesBeside(store.dir, shard).find(isOurs);
    if (dir === undefined) return { status: 'nowhere' };
    from = join(dir, fileId);
    file = await lstat(from);
  } catch (error) {
    return { status: NO_FILE.has(errnoOf(error)) ? 'bad' : 'unable' };
  }
  if (!file.isFile() || file.size !== len) return { status: 'bad' };
  const source = `${shard}/${fileId}`;
  const before = store.adopted.get(source);
  if (before !== undefined) store.discard(before);
  const name = store.full() ? undefined : store.take();
  if (name === undefined) return { status: 'unable' };
  setNewest(store.adopted, source, name, MOST_ADOPTED);
  const fileIdHere = fileIdOf(name);
  const status = await put(from, store.pathOf(name))
    // A link leads to what was fetched.
    .then(how => (how === 'linked' ? 'ok' : store.upkeep.check({ fileId: fileIdHere, md5, len })))
    .catch((error: unknown) => (NO_FILE.has(errnoOf(error)) ? 'bad' : 'unable'));
  if (status !== 'ok') {
    store.discard(name);
    return { status };
  }
  store.stored(len);
  return { status, fileId: fileIdHere };
}

async function put(from: string, to: string): Promise<'linked' | 'copied'> {
  for (let tries = 0; ; tries++) {
    try {
      await link(from, to);
      return 'linked';
    } catch (error) {
      // A name that a crash lost may have had a file.
      if (errnoOf(error) === 'EEXIST' && tries === 0) await unlink(to);
      else if (!NO_LINK.has(errnoOf(error))) throw error;
      else {
        await copyFile(from, to, constants.COPYFILE_FICLONE);
        return 'copied';
      }
    }
  }
}
