/** Somebody else: what another user of the machine may do with the files of an LCC. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ROOT } from './tree.js';

const NOBODY = 65534;
/** For options of a child process. */
export const OTHER_USER = { uid: NOBODY, gid: NOBODY };
/** The command that becomes that user, before the one that he runs. */
export const AS_OTHER_USER = ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'];

/** @returns why a test that runs our commands as another user cannot run here, or false; never a reason in CI */
export function noOtherUser(): string | false {
  if (process.env['CI'] === 'true') return false;
  if (process.geteuid?.() !== 0) return 'takes root';
  const { error, status } = spawnSync('test', ['-r', join(ROOT, 'package.json')], OTHER_USER);
  if (error === undefined && status === 0) return false;
  return `other users may not read ${ROOT}: clone where they may`;
}
