/**
 * Files that killed robots leave in the store: `ab/cd/ID.GEN.ATTEMPT.tmp`, beside the name that it was to
 * get.
 *
 * Of a robot that is lost they are removed at once: which names it had is known. For those of robots that
 * nobody saw die (the Bot Manager was killed as well, the machine lost its power) the whole store is looked
 * through once, folder by folder, beside all other work. Whatever is found then is over when the time for an
 * attempt has passed; no clock of files is asked. Should a robot live and write on, its rename fails, and
 * nobody waits for it any more.
 */
import { readdirSync, unlinkSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Name } from '../db/names/names.js';
import { fileIdOf, folderOf, isFolderName } from '../db/names/naming.js';
import type { Clock } from '../lib/clock.js';
import { errnoOf, messageOf } from '../lib/errors.js';
import type { Log } from '../lib/log.js';

interface LeftoverOptions {
  dir: string;
  /** The longest that an attempt goes on. */
  attemptMs: number;
  clock: Clock;
  log: Log;
}

const LEFTOVER = /^[0-9a-f]{8,13}\.\d+\.[\w-]+\.tmp$/;
/** Between two folders of 256 ids, so that the search of a large store slows nothing else. */
const PAUSE_MS = 5;
/** Files remembered; the rest is found when the Bot Manager starts the next time, or by lccfsck. */
const MAX_FOUND = 10_000;

export class Leftovers {
  readonly #options: LeftoverOptions;
  #closed = false;
  #cancel: (() => void) | undefined;

  /** Begins to look for those of runs before. */
  constructor(options: LeftoverOptions) {
    this.#options = options;
    void this.#look().then(
      found => {
        if (found.length > 0 && !this.#closed)
          this.#cancel = options.clock.after(options.attemptMs, () => this.#remove(found));
      },
      (error: unknown) => {
        options.log.warn('cannot search the store for half-written files', { error: messageOf(error) });
      },
    );
  }

  /** Removes all that was begun for these names: the robots that began it are gone. */
  removeOf(names: readonly Name[]): void {
    const beginnings = new Map<string, string[]>();
    for (const name of names) {
      const folder = folderOf(name.id);
      const its = beginnings.get(folder) ?? [];
      its.push(`${fileIdOf(name).slice(folder.length + 1)}.`);
      beginnings.set(folder, its);
    }
    for (const [folder, its] of beginnings) {
      const left = this.#filesIn(folder).filter(file => its.some(beginning => file.startsWith(beginning)));
      this.#remove(left.map(file => `${folder}/${file}`));
    }
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
  }

  #filesIn(folder: string): string[] {
    try {
      return readdirSync(join(this.#options.dir, folder)).filter(file => LEFTOVER.test(file));
    } catch (error) {
      this.#options.log.warn('cannot search a folder for half-written files', { error: messageOf(error) });
      return [];
    }
  }

  async #look(): Promise<string[]> {
    const { dir, clock } = this.#options;
    const found: string[] = [];
    for (const outer of await foldersOf(dir)) {
      for (const inner of await foldersOf(join(dir, outer))) {
        if (this.#closed || found.length >= MAX_FOUND) return found;
        const folder = `${outer}/${inner}`;
        for (const file of await readdir(join(dir, folder)))
          if (LEFTOVER.test(file)) found.push(`${folder}/${file}`);
        await new Promise<void>(resolve => (this.#cancel = clock.after(PAUSE_MS, resolve)));
      }
    }
    return found;
  }

  #remove(files: readonly string[]): void {
    const { dir, log } = this.#options;
    for (const file of files) {
      try {
        unlinkSync(join(dir, file));
      } catch (error) {
        if (errnoOf(error) !== 'ENOENT')
          log.warn('cannot remove a half-written file', { file, error: messageOf(error) });
      }
    }
  }
}

async function foldersOf(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter(isFolderName);
}
