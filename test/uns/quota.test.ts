import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { accepted, codeOf, Cp, init, newHome, set, SITE, type Home } from '../support/uns.js';

/** Urls that are held, with 5 bytes each, and urls that wait. */
function fill(home: Home, held: readonly string[], waiting: readonly string[] = []): void {
  const quoted = (curl: string) => `'${SITE}${curl}'`;
  for (const [index, curl] of held.entries())
    home.sql(
      `INSERT INTO lccurl(id, pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
       VALUES (${index + 1}, 7, ${quoted(curl)}, 'text/html', '', 5, 1, 'local', 'f${index}', 1, ${index + 1})`,
    );
  for (const [index, curl] of waiting.entries())
    home.sql(
      `INSERT INTO qdb(pos, pid, curl, mimetype, psetid, len) VALUES (${index + 1}, 7, ${quoted(curl)}, 'text/html', 1, 5)`,
    );
  home.sql(
    `UPDATE pidb SET filesused = ${held.length}, spaceused = ${held.length * 5}, nurlproc = ${waiting.length} WHERE pid = 7`,
  );
}

const remove = (curl: string) => `<url curl="${curl}" mimetype="text/html" op="delete"/>\n`;
const FIVE = ['a', 'b', 'c', 'd', 'e'];
const manyNew = Array.from({ length: 3000 }, (_, i) => `new/page-${i}.html`);

interface Case {
  it: string;
  terms: { filesmax?: number; spacemax?: number };
  held: readonly string[];
  waiting?: readonly string[];
  document: string;
  /** A code, or how many urls are accepted. */
  says: { code: number } | { accepted: number };
}

const CASES: Case[] = [
  {
    it: 'refuses new urls where all files are used',
    terms: { filesmax: 5 },
    held: FIVE,
    document: set('partial', 'x', 'y', 'z'),
    says: { code: 202 },
  },
  {
    it: 'accepts changes of what is held where all files are used',
    terms: { filesmax: 5 },
    held: FIVE,
    document: set('partial', ...FIVE),
    says: { accepted: 5 },
  },
  {
    it: 'refuses a set of which only a part would fit',
    terms: { filesmax: 5 },
    held: ['a', 'b', 'c'],
    document: set('partial', 'a', 'x', 'y', 'z'),
    says: { code: 202 },
  },
  {
    it: 'accepts as many as are free, one of them named twice',
    terms: { filesmax: 5 },
    held: ['a', 'b', 'c'],
    document: set('partial', 'x', 'y', 'x', 'a'),
    says: { accepted: 4 },
  },
  {
    it: 'accepts new urls in the place of those that the set deletes',
    terms: { filesmax: 5 },
    held: FIVE,
    document: set('partial', 'x', 'y').replace('</', `${remove('a')}${remove('b')}${remove('nowhere')}</`),
    says: { accepted: 5 },
  },
  {
    it: 'counts what waits to be fetched, once',
    terms: { filesmax: 5 },
    held: ['a', 'b'],
    waiting: ['b', 'x', 'y'],
    document: set('partial', 'x', 'y', 'z'),
    says: { accepted: 3 },
  },
  {
    it: 'refuses what fits beside what is held and not beside what waits',
    terms: { filesmax: 5 },
    held: ['a', 'b'],
    waiting: ['x', 'y'],
    document: set('partial', 'z1', 'z2'),
    says: { code: 202 },
  },
  {
    it: 'refuses bytes that are not free',
    terms: { spacemax: 30 },
    held: FIVE,
    document: set('partial', 'x', 'y'),
    says: { code: 203 },
  },
  {
    it: 'accepts bytes in the place of those that are held',
    terms: { spacemax: 30 },
    held: FIVE,
    document: set('partial', 'a', 'b', 'c', 'd', 'e', 'x'),
    says: { accepted: 6 },
  },
  {
    it: 'counts a set that is larger than what is kept in memory',
    terms: { filesmax: 3001 },
    held: ['a', 'b'],
    document: set('partial', ...manyNew),
    says: { code: 202 },
  },
  {
    it: 'accepts such a set when it fits',
    terms: { filesmax: 3001 },
    held: ['a', manyNew[7] ?? '', manyNew[2999] ?? ''],
    document: set('partial', ...manyNew),
    says: { accepted: 3000 },
  },
];

describe('the quota of a provider, when a partial set ends', () => {
  for (const { it: promise, terms, held, waiting, document, says } of CASES)
    it(promise, async () => {
      const home = newHome();
      const password = home.addProvider(7, terms);
      fill(home, held, waiting);
      const daemon = await home.start();
      const reply = await new Cp(daemon.port).send(init(7, password) + document).reply;
      if ('code' in says) assert.equal(codeOf(reply), says.code, reply);
      else assert.equal(accepted(reply), says.accepted, reply);
      assert.deepEqual(home.spooled('tmp'), []);
      assert.equal(home.spooled().length, 'code' in says ? 0 : 1);
      await daemon.stop();
    });
});
