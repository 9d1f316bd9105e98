/** The view of programs on an LCC: plain values, documented in docs/api.md. */

/** How far a program has come: everything up to the change `seq` of the store `storeId`. Write it down as
 * text with `formatCursor`, or into a file that `lccq --cursor` shares, with `openCursor`. */
export interface Cursor {
  readonly storeId: string;
  readonly seq: number;
  /** While everything is read for the first time: where the store was when that began. */
  readonly began?: number;
}

/** Which changes are wanted; what is left out does not restrict. Any other name, and a value that is none, is
 * refused. */
export interface ChangesOptions {
  /** Changes after this one; as text, too. Without it everything that is held, in the order in which it last
   * changed. */
  cursor?: Cursor | string | undefined;
  /** Changed (fetched, deleted) at this time or later. */
  since?: Date | undefined;
  /** Changed before this time. */
  until?: Date | undefined;
  /** Only urls of this provider. */
  pid?: number | undefined;
  /** Only urls whose conceptual URL begins so. */
  prefix?: string | undefined;
  /** Only urls whose mimetype matches this glob, e.g. `text/*`. */
  mime?: string | undefined;
  /** Deletions: `yes` besides what is held (the default with `cursor`, `since` and `follow`), `no`, or `only`
   * they. */
  deleted?: 'yes' | 'no' | 'only' | undefined;
  /** Most changes to give: 1 or more. */
  limit?: number | undefined;
  /** Go on with what is committed from now on, within a second, until `signal` says stop. */
  follow?: boolean | undefined;
  /**
   * Is told, and awaited, whenever everything that there is for now has been dealt with: at the end, and with
   * `follow` before each wait. Its cursor is also past what was not selected, so keep it: the deletions
   * between an old cursor and the present may be forgotten some day. Not called where `limit` or the program
   * ends the iteration before.
   */
  caughtUp?: ((cursor: Cursor) => void | Promise<void>) | undefined;
  /** Ends the iteration: it throws the signal's reason, as Node's own iterators do. */
  signal?: AbortSignal | undefined;
}

/** One url as it is now: held (`upsert`), or gone (`delete`). */
export interface Change {
  readonly op: 'upsert' | 'delete';
  /** Place in the change sequence of the store; grows from one change to the next. */
  readonly seq: number;
  /** Id of the row, never used again: a key for an index. */
  readonly id: number;
  /** Provider. */
  readonly pid: number;
  /** Conceptual URL: with provider and mimetype, the key. */
  readonly curl: string;
  readonly mimetype: string;
  readonly subtype: string | null;
  /** The URL that people are shown; empty: nothing may be shown. */
  readonly burl: string;
  /** Where it was fetched from; null for deletions. */
  readonly furl: string | null;
  /** Where redirects led from there; null where none did, and for deletions. */
  readonly finalUrl: string | null;
  /** Checksum of the content, 32 hexadecimal digits; null for deletions. */
  readonly md5: string | null;
  /** Bytes of content; null for deletions. */
  readonly len: number | null;
  /** Modification time as RFC 3339, where it is known. */
  readonly mtime: string | null;
  /** The encoding that the server named, as the Encoding Standard calls it. */
  readonly httpCharset: string | null;
  /** When it was fetched, or deleted. */
  readonly time: Date;
  /** Machine that holds the content; null for deletions. */
  readonly machineId: string | null;
  /** Absolute path of the content; null for deletions, and where it is on another machine. */
  readonly file: string | null;
  /** The cursor to go on with once this change has been dealt with. */
  readonly cursor: Cursor;
}

/** The same of an LCC of several homes. */
export interface HomesChangesOptions extends Omit<ChangesOptions, 'cursor' | 'caughtUp'> {
  /** By the number of the home: changes after this one. A home without one begins at its start. */
  cursors?: Readonly<Record<number, Cursor | string>> | undefined;
  /** As that of `ChangesOptions`, for each home: keep its cursor. */
  caughtUp?: ((cursor: Cursor, shard: number) => void | Promise<void>) | undefined;
}

/** One url of one of several homes; its content is fetched: `contentOf`, `fetchContent`. */
export interface HomeChange extends Change {
  /** Number of the home, whose cursor this one has. */
  readonly shard: number;
}

/** The text of a page. */
export interface Text {
  title: string;
  text: string;
  /** As the page declares it, e.g. `de-AT`. */
  language?: string;
  /** The encoding it was found in, as the Encoding Standard names it. */
  charset: string;
}

/** A page as Markdown (GFM). */
export interface PageMarkdown extends Omit<Text, 'text'> {
  /** The page's own description, up to 1000 characters. */
  description?: string;
  markdown: string;
  /** A hash of the words alone, 32 hexadecimal digits: where it is the same, there is nothing to embed. */
  hash: string;
}

/** A part of a page, for a model. */
export interface PageChunk {
  /** The first is 0. */
  n: number;
  /** Headings that it is under, from the outermost. */
  headings: string[];
  markdown: string;
  /** The text to embed: title and headings, and the words. */
  text: string;
  /** A hash of `text`, 32 hexadecimal digits. */
  hash: string;
}
