/** An LCC home of its own with content in it, written by the stores the Queue Manager uses. */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ContentStore, type Said } from '../../src/db/cache/content.js';
import { FreedStore } from '../../src/db/cache/freed.js';
import { VisitStore } from '../../src/db/truth/visits.js';
import { Tally } from '../../src/db/cache/tally.js';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { Db } from '../../src/db/sqlite/open.js';
import { newDatabase } from './new-database.js';

export interface Page {
  curl: string;
  mimetype?: string;
  pid?: number;
  subtype?: string;
  burl?: string;
  furl?: string;
  mtime?: string;
  content?: string | Uint8Array;
  /** Seconds since 1970. */
  at?: number;
  machineid?: string;
  /** As the server said it. */
  charset?: string;
  verified?: boolean;
}

const FLOOD = 300;

const NOT_SAID: Said = { subtype: null, burl: null, furl: null, md5: null, len: null, mtime: null };

export class TestCache {
  readonly home: string;
  readonly store: string;
  readonly dbPath: string;
  readonly db: Db;
  readonly #content: ContentStore;
  readonly #tally: Tally;
  #files = 0;

  constructor() {
    this.home = mkdtempSync(join(tmpdir(), 'lcc-cache-'));
    this.store = join(this.home, 'store');
    this.dbPath = join(this.home, 'lcc.db');
    this.db = newDatabase(this.dbPath);
    this.#tally = new Tally(this.db);
    this.#content = new ContentStore(this.db, {
      tally: this.#tally,
      freed: new FreedStore(this.db),
      visits: new VisitStore(this.db),
    });
  }

  get storeId(): string {
    return String(this.db.prepare("SELECT value FROM meta WHERE key = 'store_id'").pluck().get());
  }

  /** Stores or replaces a page; returns the path of its file. */
  put(page: Page): string {
    const { pid = 1, mimetype = 'text/html', content = `<p>${page.curl}</p>` } = page;
    const bytes = Buffer.from(content);
    const fileid = fileIdOf({ id: ++this.#files, gen: 0 });
    const file = join(this.store, fileid);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, bytes);
    this.db.transaction(() => {
      this.#content.store(
        { pid, curl: page.curl, mimetype, psetid: 1 },
        { ...NOT_SAID, subtype: page.subtype ?? null, burl: page.burl ?? null, furl: page.furl ?? null },
        {
          md5: createHash('md5').update(bytes).digest('hex'),
          len: bytes.length,
          mtime: page.mtime ?? null,
          isOlder: false,
          etag: null,
          lastmodified: null,
          charset: page.charset ?? null,
          finalurl: null,
          robots: null,
          verified: page.verified ?? true,
          machineid: page.machineid ?? 'local',
          fileid,
        },
        this.#content.find(pid, page.curl, mimetype),
        page.at ?? 1_795_000_000,
      );
      this.#tally.flush();
    })();
    return file;
  }

  /** Stores many pages in one transaction. */
  fill(count: number, curlOf: (i: number) => string): void {
    this.db.transaction(() => {
      for (let i = 1; i <= count; i++) this.put({ curl: curlOf(i) });
    })();
  }

  /** The same, of so few pages that they are written soon: more than a pipe holds, in any format that names them. */
  flood(site = 'http://x/'): number {
    this.fill(FLOOD, i => `${site}${i}/${'y'.repeat(2000)}`);
    return FLOOD;
  }

  remove(curl: string, options: { pid?: number; mimetype?: string; at?: number } = {}): void {
    const { pid = 1, mimetype = 'text/html', at = 1_795_000_000 } = options;
    this.db.transaction(() => {
      const held = this.#content.find(pid, curl, mimetype);
      if (held === undefined) throw new Error(`${curl} is not held`);
      this.#content.remove(pid, held, at);
      this.#tally.flush();
    })();
  }

  /** Forgets all tombstones there are. */
  forgetDeletions(): void {
    this.db.transaction(() => this.#content.deletions.forget(Number.MAX_SAFE_INTEGER, 1000))();
  }

  close(): void {
    this.db.close();
    rmSync(this.home, { recursive: true, force: true });
  }
}
