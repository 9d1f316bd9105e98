/** The file that proves a registration: below the document root until the server has seen it there. */
import { chmodSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { writeFileDurably } from '../../lib/durable.js';
import { LccError, messageOf } from '../../lib/errors.js';
import { step } from '../../lib/steps.js';
import type { PendingRegistration } from './pending.js';

/** Puts the file of the secret in place, readable for everybody. Its name is random: whatever has it is of an
 * earlier run. */
export function place(pending: PendingRegistration): void {
  const text = `${pending.secret}\n`;
  for (const path of pathsOf(pending)) {
    try {
      if (!isThere(path, text)) writeFileDurably(path, text);
      chmodSync(path, 0o644);
    } catch (error) {
      throw new LccError('output.create', `${path}: ${messageOf(error)}`, { cause: error });
    }
    step('register.file.placed');
  }
}

function isThere(path: string, text: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true && readFileSync(path, 'utf8') === text;
}

/** The file has done what it is for. */
export function takeAway(pending: PendingRegistration): void {
  for (const path of pathsOf(pending)) rmSync(path, { force: true });
}

export function pathsOf({ docroots = [], url, file }: PendingRegistration): string[] {
  const name = file.slice(url.length);
  return docroots.map(docroot => join(docroot, name));
}
