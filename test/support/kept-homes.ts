/** Homes that are kept in one MariaDB, and a site of 40 pages. */
import { join } from 'node:path';
import { after, afterEach, before, beforeEach } from 'node:test';
import assert from 'node:assert/strict';
import { openSqlite } from '../../src/lib/sqlite.js';
import type { Engine } from './engine.js';
import { Lcc, urlTag } from './lcc.js';
import { TestSite } from './site.js';
import { until } from './until.js';

export class KeptHomes {
  readonly engine: Engine;
  site!: TestSite;
  /** Logins that the site was shown last, by page. */
  readonly shown = new Map<string | undefined, string | undefined>();
  shard = 0;
  #machines: Lcc[] = [];

  /** Inside a `describe`: each test has a shard of its own. */
  constructor(engine: Engine) {
    this.engine = engine;
    before(async () => {
      this.site = await TestSite.listen();
      for (let n = 0; n < 40; n++) this.site.pages.set(`/${n}.html`, `page ${n}`);
      const serve = this.site.answer;
      this.site.answer = (request, response) => {
        this.shown.set(request.url, request.headers.authorization);
        serve(request, response);
      };
    });
    after(() => this.site.close());
    beforeEach(() => void this.shard++);
    afterEach(async () => {
      for (const lcc of this.#machines.splice(0)) await lcc.remove();
    });
  }

  /** @param more of lcc.toml */
  machine(name: string, more = ''): Lcc {
    const lcc = new Lcc(
      `${this.site.url}/`,
      `[store]
       url = "${this.engine.url()}"
       password_file = "${this.engine.passwordFile()}"
       [cluster]
       machine = "${name}"
       shard = ${this.shard}
       [bm]
       machine_id = "${name}"
       ${more}`,
    );
    this.#machines.push(lcc);
    return lcc;
  }

  init(lcc: Lcc, more = ''): Promise<string> {
    const password = this.engine.passwordFile('lcc_admin');
    return lcc.run(`lcckeep init --user=lcc_admin --password-file=${password} ${more}`);
  }

  /** The first machine, which owns the home, with its first base made. */
  async owner(more = ''): Promise<Lcc> {
    const lcc = this.machine('h1', more);
    await this.init(lcc);
    await lcc.addProvider();
    await lcc.start();
    await lcc.shows('lcckeep status', /lcc: shipment \d+, base [1-9]/);
    assert.doesNotMatch(lcc.log, /cannot connect[^\n]*keep\.sock/, 'its keeper was only starting');
    return lcc;
  }
}

/** Pages `from` up to before `to` have changed. */
export function deliver(lcc: Lcc, from: number, to: number) {
  return lcc.deliver(
    'partial',
    Array.from({ length: to - from }, (_, i) => urlTag(`${from + i}.html`)),
  );
}

/** Urls that an LCC knows of, whether they are fetched by now or not. */
export function known(lcc: Lcc): number {
  const db = openSqlite(join(lcc.home, 'lcc.db'), { readonly: true });
  try {
    const count = 'SELECT (SELECT count(*) FROM lccurl) + (SELECT count(*) FROM qdb)';
    return Number(db.prepare(count).pluck().get());
  } finally {
    db.close();
  }
}

export function owns(lcc: Lcc) {
  return until(`${lcc.home} is owned`, async () => (await lcc.daemons())['lccd-keep']?.['owner'] === true);
}
