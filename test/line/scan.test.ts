/** Scans and audits with all daemons: what changed, what is gone, and what robots.txt forbids by now; what its owner is told. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openDatabase, openReadOnly, type Db } from '../../src/db/sqlite/open.js';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const DAY_S = 86_400;

describe('lccscan', () => {
  let owned: TestSite;
  let crawled: TestSite;
  let lcc: Lcc;
  /** Paths that the crawled site was asked for. */
  const asked: string[] = [];

  function inDb<T>(work: (db: Db) => T, open: (path: string) => Db = openReadOnly): T {
    const db = open(join(lcc.home, 'lcc.db'));
    try {
      return work(db);
    } finally {
      db.close();
    }
  }
  const all = (sql: string) => inDb(db => db.prepare(sql).raw().all() as unknown[][]);
  /** All that was fetched was fetched so much earlier. */
  const age = (seconds: number) =>
    inDb(
      db =>
        void db.exec(`UPDATE lccurl SET fetched_time = fetched_time - ${seconds};
          UPDATE visit SET checked = checked - ${seconds}, failsince = failsince - ${seconds};
          UPDATE audit SET began = began - ${seconds}, asked = asked - ${seconds}, again = again - ${seconds},
            second = second - ${seconds}`),
      openDatabase,
    );
  const paths = (pid: number) =>
    all(`SELECT curl FROM lccurl WHERE pid = ${pid} ORDER BY curl`).map(
      ([curl]) => new URL(String(curl)).pathname,
    );

  before(async () => {
    owned = await TestSite.listen();
    crawled = await TestSite.listen();
    const serve = crawled.answer;
    crawled.answer = (request, response) => {
      asked.push(request.url ?? '');
      serve(request, response);
    };
    lcc = new Lcc(`${owned.url}/`);
    await lcc.addProvider();
    await lcc.addProvider(2, `${crawled.url}/`, '--spider=yes --pace=0');
    await lcc.start();
  });
  after(async () => {
    await lcc?.remove();
    owned?.close();
    crawled?.close();
  });

  it('finds what changed and what is gone of a crawled site, and asks for nothing that robots.txt forbids', async () => {
    const names = ['/a', '/b', '/gone', '/secret'];
    for (const name of names) crawled.pages.set(name, `page ${name}`);
    crawled.pages.set('/robots.txt', 'User-agent: *\nDisallow:\n');
    await lcc.run(
      `printf '%s\\n' ${names.map(name => crawled.urlOf(name)).join(' ')} | lcclinks --seeds --deliver`,
    );
    await lcc.idle();
    assert.deepEqual(paths(2), names);
    crawled.pages.set('/b', 'another page');
    crawled.pages.delete('/gone');
    crawled.pages.set('/robots.txt', 'User-agent: *\nDisallow: /secret\n');
    // What robots.txt said is in memory, too.
    await lcc.stop();
    age(DAY_S + 1);
    inDb(
      db => void db.exec(`UPDATE robots SET fetched = fetched - ${DAY_S}, checked = checked - ${DAY_S}`),
      openDatabase,
    );
    await lcc.start();
    asked.length = 0;
    await lcc.run('lccscan --limit=10 --deliver');
    await lcc.idle();
    assert.deepEqual(asked.toSorted(), ['/a', '/b', '/gone', '/robots.txt']);
    assert.deepEqual(all('SELECT x, fails, failcode FROM visit ORDER BY id'), [
      [0, 0, null],
      [1, 0, null],
      [0, 1, 404],
    ]);
    assert.deepEqual(
      all('SELECT curl FROM known WHERE code = 615').map(([curl]) => curl),
      [crawled.urlOf('/secret')],
      'what is forbidden has not failed',
    );
    assert.deepEqual(paths(2), names, 'once is not gone');
    age(3601);
    await lcc.run('lccscan --limit=10 --deliver');
    await lcc.idle();
    assert.deepEqual(paths(2), ['/a', '/b', '/secret']);
  });

  it('--audit finds what an owner did not announce, and the owner is told', async () => {
    await lcc.publish(owned, { one: 'one', two: 'two', three: 'three' });
    age(DAY_S);
    owned.pages.set('/one', 'changed without a word');
    owned.pages.delete('/two');
    await lcc.run('lccscan --audit --deliver');
    await lcc.idle();
    const states = () => all('SELECT state FROM audit ORDER BY curl').flat();
    assert.deepEqual(states(), [1, 2, 0], '/one /three /two');
    // Ten minutes later at the most.
    age(700);
    await until(
      'what changed is looked at again, soon',
      () => all('SELECT 1 FROM audit WHERE second IS NOT NULL').length > 0,
    );
    age(3600);
    await until('what is gone is asked for once more', () => states()[2] === 1);
    age(3600);
    await until('the audit is settled', () => states().every(state => Number(state) > 1));
    assert.deepEqual(states(), [4, 2, 5]);
    assert.deepEqual(paths(1), ['/one', '/three']);
    assert.deepEqual(all('SELECT code FROM pierr ORDER BY code').flat(), [616, 617]);
    const { stdout } = await lcc.sh(`lcccp --status --uns=${lcc.uns} --pid=1`);
    assert.match(stdout, /of 3 audited 2 changed or went without being announced/);
    assert.match(await lcc.run('lccstat --truth'), /^ *1 {2}/m);
    assert.deepEqual(all('SELECT auditdue > unixepoch(), fullsetwanted FROM pidb WHERE pid = 1'), [
      [1, null],
    ]);
  });

  it('--audit asks for a page as when its owner announces it: no header differs', async () => {
    const heads: string[][] = [];
    const lastModified = new Date(0).toUTCString();
    owned.answer = (request, response) => {
      heads.push([request.method ?? '', request.url ?? '', ...request.rawHeaders]);
      response.writeHead(request.headers['if-none-match'] === '"1"' ? 304 : 200, {
        'content-type': 'text/html',
        'last-modified': lastModified,
        etag: '"1"',
      });
      response.end(request.headers['if-none-match'] === '"1"' ? undefined : 'the same');
    };
    const asked = async (work: () => Promise<unknown>) => {
      heads.length = 0;
      await work();
      await lcc.idle();
      return heads.splice(0);
    };
    const announce = () => lcc.deliver('partial', ['<url curl="page" mimetype="text/html"/>']);
    const [first] = await asked(announce);
    assert.ok(first?.includes('/page') === true && !first.includes('"1"'));
    const announced = await asked(announce);
    assert.ok(announced[0]?.includes('"1"') === true && announced[0].includes(lastModified), 'conditional');
    age(DAY_S);
    inDb(db => void db.exec('UPDATE pidb SET auditdue = 0; DELETE FROM audit'), openDatabase);
    const audited = await asked(() => lcc.run('lccscan --audit --deliver'));
    assert.deepEqual(
      audited.filter(([, path]) => path === '/page'),
      announced,
    );
  });
});
