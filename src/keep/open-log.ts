/** The log of a database that others write, with the guards by which nothing of it is lost. */
import { Guards } from '../db/sqlite/guards.js';
import { inodeOf } from '../lib/inode.js';
import { framesBefore, LogFile, type LogChanges, type LogHeader } from './log-file.js';
import { BEGINNING, type LogPlace } from './place.js';

/** A moment of it. */
export interface LogMoment {
  header: LogHeader;
  /** Frames that count. */
  frames: number;
  /** Those of them that are in the database. */
  moved: number;
  /** Those of them before the place. */
  before: number;
}

export class OpenLog {
  readonly file: LogFile;
  readonly #guards: Guards;
  readonly #path: string;
  readonly #inode: bigint | undefined;

  private constructor(path: string, inode: bigint, guards: Guards, file: LogFile) {
    this.#path = path;
    this.#inode = inode;
    this.#guards = guards;
    this.file = file;
  }

  /** undefined: there is no database yet, or it is just being made. */
  static open(path: string): OpenLog | undefined {
    const inode = inodeOf(path);
    const guards = inode === undefined ? undefined : Guards.open(path);
    const file = guards && LogFile.open(path);
    if (inode !== undefined && guards !== undefined && file !== undefined)
      return new OpenLog(path, inode, guards, file);
    guards?.close();
    return undefined;
  }

  /** The file that the path leads to. */
  get target(): 'same' | 'another' | 'none' {
    const inode = inodeOf(this.#path);
    if (inode === undefined) return 'none';
    return inode === this.#inode ? 'same' : 'another';
  }

  /** undefined: nothing is in it. */
  look(place: LogPlace): LogMoment | undefined {
    // In between the log may begin again, once.
    for (;;) {
      const header = this.file.header();
      const { frames, moved } = this.#guards.state();
      if (header === undefined || frames === 0) return undefined;
      if (String(this.file.header()?.salts) !== String(header.salts)) continue;
      const isSame = String(header.salts) === String(place.salts);
      return { header, frames, moved, before: isSame ? framesBefore(header, place.offset) : 0 };
    }
  }

  /** Where it ends now. */
  end(): LogPlace {
    const look = this.look(BEGINNING);
    return look === undefined ? BEGINNING : this.file.placeAfter(look.header, look.frames);
  }

  /** The changes after a place, up to which all is shipped; undefined: none. @param moved called when a guard
   * has moved */
  async news(place: LogPlace, moved: () => void): Promise<LogChanges | undefined> {
    const seen = this.look(place);
    if (seen === undefined || seen.frames <= seen.before) return undefined;
    this.#guards.move();
    moved();
    const look = this.look(place) ?? seen;
    const from = look.before === 0 ? this.file.placeAfter(look.header, 0) : place;
    return await this.file.changes(look.header, from, look.frames);
  }

  /** Where it ends now, and the changes up to there that are not in the file of the database. */
  async unmoved(): Promise<{ place: LogPlace; changes?: LogChanges }> {
    const look = this.look(BEGINNING);
    if (look === undefined) return { place: BEGINNING };
    const { header, frames, moved } = look;
    const from = this.file.placeAfter(header, moved);
    if (moved === frames) return { place: from };
    const changes = await this.file.changes(header, from, frames);
    return { place: changes.place, changes };
  }

  /**
   * Moves all of it into the database, and the guards out of it, so that it begins again.
   * @param place its end, up to which all is shipped
   * @returns false when it is not its end any more, or a reader holds what it sees
   */
  moveOut(place: LogPlace): boolean {
    if (!this.follow(place) || !this.follow(place)) return false;
    this.#guards.checkpoint();
    const look = this.look(place);
    if (look !== undefined && look.moved < look.frames) return false;
    return this.follow(place) && this.follow(place);
  }

  close(): void {
    this.file.close();
    this.#guards.close();
  }

  /**
   * Brings the guard that is behind to the place, up to which all is shipped. One that comes to stand
   * after it does not protect what follows it: it goes next.
   * @returns true if the place is the end of the log
   */
  follow(place: LogPlace): boolean {
    this.#guards.move();
    const look = this.look(place);
    const isEnd = look === undefined || look.frames === look.before;
    if (!isEnd) this.#guards.swap();
    return isEnd;
  }
}
