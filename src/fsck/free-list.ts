/** Names as noted against the rows: free, to be deleted, never given out. Known to the Bot Manager alone
 * while it runs: then only the deletions that wait in lcc.db are looked at. */
import type { Name, NameRow } from '../db/names/names.js';
import { fileIdOf, nameOf } from '../db/names/naming.js';
import { spooledDeletions } from './spools.js';
import type { CheckContext, Finding } from './types.js';

const PAGE_ROWS = 1000;

/** Deletions that wait in lcc.db: none may name a file that a row holds. */
export function* deletions(context: CheckContext): Generator<Finding> {
  const { look, machineId, known, repairs, fsmSpoolDir, extent } = context;
  if (machineId === undefined) return;
  extent.leaving += context.names?.goneCount ?? 0;
  for (const { fid, fileid } of look.freed(machineId, PAGE_ROWS)) {
    const name = nameOf(fileid);
    if (name === undefined) continue;
    if (known.useOf(name) === 'held') {
      // The row was read a while ago: while the LCC runs it may have gone, and its file been freed, since.
      if (!look.isHeldThough(fid)) continue;
      repairs?.keepFile(fid);
      const what = 'waits to be deleted, but a row points to it';
      yield { kind: 'free-list', where: fileid, what, repaired: repairs !== undefined };
    } else {
      known.add(name, 'freed');
      extent.leaving++;
    }
  }
  for (const fileid of spooledDeletions(fsmSpoolDir, machineId)) {
    const name = nameOf(fileid);
    if (name === undefined) continue;
    known.add(name, 'freed');
    extent.leaving++;
  }
}

/** Names that rows hold must be noted as in use, at that generation. */
export function* freeList({ names, known, repairs }: CheckContext): Generator<Finding> {
  if (names === undefined) return;
  const claims: Name[] = [];
  for (const name of known.held()) {
    const what = wrongOf(name, names.row(name.id), names.nextId);
    if (what === undefined) continue;
    claims.push(name);
    if (repairs !== undefined && claims.length >= PAGE_ROWS) names.claim(claims.splice(0));
    yield { kind: 'free-list', where: fileIdOf(name), what, repaired: repairs !== undefined };
  }
  if (repairs !== undefined) names.claim(claims);
}

function wrongOf(name: Name, noted: NameRow | undefined, nextId: number): string | undefined {
  if (name.id >= nextId) return `in use, but ids from ${nextId} on are said never to have been given out`;
  if (noted === undefined) return name.gen === 0 ? undefined : `in use, but its id is noted at generation 0`;
  if (noted.state === 'free' && noted.gen <= name.gen) return 'in use, but noted as free';
  if (noted.state === 'gone' && noted.gen === name.gen) return 'in use, but noted as to be deleted';
  if (noted.state !== 'free' && noted.gen < name.gen)
    return `in use, but its id is noted at generation ${noted.gen}`;
  return undefined;
}
