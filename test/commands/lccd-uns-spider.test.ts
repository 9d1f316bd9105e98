/** The spider door of a real lccd-uns: sets of many providers on one connection, without a login. */
import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openReadOnly } from '../../src/db/sqlite/open.js';
import { accepted, codeOf, Cp, init, newHome, newReceiver, SITE, type Home } from '../support/uns.js';
import { until } from '../support/until.js';

const url = (curl: string, more = '') =>
  `<url curl="${curl}" mimetype="*/*" ifabsent="yes" outofroot="drop" hops="1"${more}/>`;
const links = (pid: number, urls: readonly string[], attributes = 'set="partial" origin="links"') =>
  `<lococa:set ${attributes} pid="${pid}">\n${urls.join('\n')}</lococa:set>\n`;
const END = '</lococa:set_result>\n';

describe('the spider door', () => {
  let home: Home;
  let door: string;
  let port: number;
  let password: string;

  before(async () => {
    home = newHome();
    home.addProvider(7, {}, 'UPDATE pidb SET spider = 1');
    password = home.addProvider(8, { filesmax: 1 }, 'UPDATE pidb SET spider = 1 WHERE pid = 8');
    home.addProvider(9);
    home.addProvider(10, {}, 'UPDATE pidb SET spider = 1, enabled = 0 WHERE pid = 10');
    door = join(home.dir, 'spider.sock');
    const uns = await home.start({}, [`--listen-spider=unix:${door}`]);
    port = uns.port;
  });

  /** What it answers to each set, until it closes. */
  async function answers(...said: string[]): Promise<string[]> {
    const spider = new Cp(door);
    spider.socket.end(said.join(''));
    return (await spider.reply).split(END).filter(text => text !== '');
  }

  it('is open to the user of the daemon alone', () => {
    assert.equal(statSync(door).mode & 0o777, 0o600);
  });

  it('takes sets of several providers, answers each in its turn, and refuses one without the others', async () => {
    const given = await answers(
      links(7, [url(`${SITE}a`), url(`${SITE}b`), url('http://elsewhere.example/')]),
      links(11, [url(`${SITE}a`)]),
      links(9, [url(`${SITE}a`)]),
      links(10, [url(`${SITE}a`)]),
      // Its quota is for the Queue Manager to judge, url by url.
      links(8, [url(`${SITE}a`), url(`${SITE}b`), `<url curl="${SITE}c" mimetype="image"/>`]),
      links(9, [url(`${SITE}a`)], 'set="partial" origin="scan"'),
    );
    assert.deepEqual(given.map(text => [accepted(text), codeOf(text)]).map(String), [
      '2,NaN',
      'NaN,101',
      'NaN,105',
      'NaN,105',
      '2,NaN',
      '1,NaN',
    ]);
    assert.match(given[4] ?? '', /<url curl="http:\/\/www\.example\.org\/c" mimetype="image" code="302">/);
    assert.equal(home.spooled().length, 3);
    const qm = await newReceiver(home);
    await qm.until(({ sets }) => sets.length === 3);
    const heads = qm.sets.map(({ head: { pid, origin, set, received }, records }) => [
      pid,
      origin,
      set,
      received,
      records[0]?.hops,
    ]);
    assert.deepEqual(
      heads.toSorted(([a], [b]) => Number(a) - Number(b)),
      [
        [7, 'links', 'partial', 2, '1'],
        [8, 'links', 'partial', 2, '1'],
        [9, 'scan', 'partial', 1, '1'],
      ],
    );
    assert.deepEqual(qm.sessions, []);
  });

  it('ends the conversation for what it does not allow, after an answer to what came before', async () => {
    for (const wrong of [
      init(8, password),
      links(7, [url(`${SITE}x`)], 'set="partial"'),
      links(7, [url(`${SITE}x`)], 'set="partial" origin="owner"'),
      links(7, [url(`${SITE}x`)], 'set="full" origin="links"'),
      links(7, [url(`${SITE}x`)], 'set="partial" origin="link"'),
      `<lococa:set set="partial" origin="links">${url(`${SITE}x`)}</lococa:set>`,
    ]) {
      const [first = '', last = '', ...more] = await answers(
        links(7, [url(`${SITE}a`)]),
        wrong,
        links(7, []),
      );
      assert.deepEqual([accepted(first), codeOf(last), more], [1, 104, []], wrong);
    }
    const [cut = ''] = await answers(links(7, [url(`${SITE}x`)]).slice(0, -10));
    assert.equal(codeOf(cut), 103);
  });

  it('is the only way for what nobody announced: elsewhere the origin of a set is refused', async () => {
    const cp = new Cp(port).send(init(8, password) + links(8, [url(`${SITE}a`)]));
    assert.equal(codeOf(await cp.reply), 104);
  });

  it('takes as many sets on a connection as come, and each is on disk when it is answered', async () => {
    const before = home.spooled().length;
    const many = Array.from({ length: 300 }, (_, i) => links(7, [url(`${SITE}page-${i}`)]));
    const given = await answers(...many);
    assert.equal(given.length, 300);
    assert.ok(given.every(text => accepted(text) === 1));
    assert.equal(home.spooled().length, before + 300);
  });
});

describe('a set that comes by the spider door', () => {
  it('is refused by 102 while the spool is at its limit, without an end of the connection, and has room again', async () => {
    const home = newHome();
    home.configure('[uns]\nmax_spool_bytes = "1MB"\n');
    home.addProvider(7, {}, 'UPDATE pidb SET spider = 1');
    const door = join(home.dir, 'spider.sock');
    await home.start({}, [`--listen-spider=unix:${door}`]);
    const spider = new Cp(door);
    const long = 'x'.repeat(1000);
    const taken: string[] = [];
    /** @returns what is answered to a set of 300 links */
    const send = async (n: number): Promise<number | 'accepted'> => {
      const curls = Array.from({ length: 300 }, (_, i) => `${SITE}${n}-${i}-${long}`);
      spider.heard = '';
      spider.send(
        links(
          7,
          curls.map(curl => url(curl)),
        ),
      );
      await until('the set is answered', () => spider.heard.includes(END));
      const answer = spider.heard;
      if (accepted(answer) !== 300) return codeOf(answer);
      taken.push(...curls);
      return 'accepted';
    };
    let n = 0;
    while ((await send(n)) === 'accepted') n++;
    assert.ok(n > 1, 'several had room');
    assert.equal(await send(++n), 102);
    assert.equal(home.spooled().length, taken.length / 300);
    await home.startQm();
    await until('the spool is empty', () => home.spooled().length === 0);
    await until('there is room', async () => (await send(++n)) === 'accepted');
    await until('the sets are absorbed', () => home.spooled().length === 0);
    const db = openReadOnly(join(home.dir, 'lcc.db'));
    assert.deepEqual(db.prepare('SELECT curl FROM qdb ORDER BY pos').pluck().all(), taken);
    db.close();
  });

  it('is there once when the daemon is killed before the answer, and the same set comes again', async () => {
    const home = newHome();
    home.addProvider(7, {}, 'UPDATE pidb SET spider = 1');
    const door = join(home.dir, 'spider.sock');
    const args = [`--listen-spider=unix:${door}`];
    const killed = await home.start({ LCC_CRASH_AT: 'uns.accepted' }, args);
    const first = new Cp(door).send(links(7, [url(`${SITE}a`)]));
    assert.equal(await first.reply, '');
    assert.equal(await killed.ended, 'SIGKILL');
    await home.start({}, args);
    const again = new Cp(door);
    again.socket.end(links(7, [url(`${SITE}a`)]));
    assert.equal(accepted(await again.reply), 1);
    // Both are; that they say the same is seen where they are absorbed.
    assert.equal(home.spooled().length, 2);
    await home.startQm();
    const db = openReadOnly(join(home.dir, 'lcc.db'));
    const waiting = () => db.prepare('SELECT curl, flags, hops FROM qdb').raw().all();
    await until('the sets are absorbed', () => home.spooled().length === 0);
    assert.deepEqual(waiting(), [[`${SITE}a`, 7, 1]]);
    assert.deepEqual(db.prepare('SELECT class FROM qpsdb').pluck().all(), [2]);
    db.close();
  });
});
