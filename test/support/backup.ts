/** Pages of an LCC that change while copies of its database are made and put back. */
import { copyFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Lcc, urlTag } from './lcc.js';
import type { TestSite } from './site.js';

/** A page changes, is announced and fetched. */
export async function change(lcc: Lcc, site: TestSite, page: string, content: string): Promise<void> {
  site.pages.set(`/${page}`, content);
  await lcc.deliver('partial', [urlTag(page, ` len="${content.length}"`)]);
  await lcc.idle();
}

/** Puts `backup.db` in the place of the database, as lcc(7) says. */
export function restore(lcc: Lcc): void {
  for (const suffix of ['-wal', '-shm']) rmSync(join(lcc.home, `lcc.db${suffix}`), { force: true });
  copyFileSync(join(lcc.home, 'backup.db'), join(lcc.home, 'lcc.db'));
}
