/** A provider with rows in every table, made at random, and its rows as they are compared. */
import { CARRIED } from '../../../src/db/moves/carried.js';
import { fileIdOf } from '../../../src/db/names/naming.js';
import { Counter } from '../../../src/db/sqlite/counters.js';
import type { Db } from '../../../src/db/sqlite/open.js';

type Roll = (below: number) => number;
type Row = Record<string, unknown>;

function insert(db: Db, table: string, row: Row): void {
  const names = Object.keys(row);
  db.prepare(`INSERT INTO ${table}(${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`).run(
    ...Object.values(row),
  );
}

/** Puts a provider into a shard; its numbers are those that come next there. */
export function addRandomProvider(db: Db, pid: number, roll: Roll): void {
  const [seqs, places, sets] = [new Counter(db, 'seq'), new Counter(db, 'pos'), new Counter(db, 'psetid')];
  const url = (n: number) => `http://127.0.0.1/${pid}/${n}`;
  const maybe = <T>(value: T) => (roll(2) === 0 ? null : value);
  const of = (key: Row): Row => ({ pid, ...key });
  const psetids = Array.from({ length: 1 + roll(6) }, () => sets.take(1 + roll(3)));
  const someSet = () => psetids[roll(psetids.length)] ?? 0;
  insert(db, 'pidb', {
    pid,
    password: `p${pid}`,
    timeofday: roll(2) === 0 ? '' : '1'.repeat(24),
    fusepercent: maybe(roll(100)),
    latestpsetid: roll(2) === 0 ? 0 : someSet(),
    latestuns: 'uns',
    backoffs: roll(3),
    backoffuntil: roll(1000),
    setevery: roll(7) / 2,
    groupname: maybe('group'),
    priority: roll(3),
    truthmode: roll(3),
  });
  insert(db, 'proots', of({ root: url(0) }));
  if (roll(2) === 0) {
    insert(db, 'sitelogin', of({ login: '' }));
  }
  insert(db, 'givenroot', of({ root: url(1), at: roll(1000) }));
  insert(db, 'rsop', of({ id: `op-${pid}`, op: 'pause', digest: 'd', answer: '{}', at: roll(1000) }));
  for (let n = roll(4); n > 0; n--)
    insert(db, 'pierr', of({ code: 404, text: `e${n}`, attrs: ` curl="${url(n)}"`, cured: roll(2) }));
  for (let n = roll(4); n > 0; n--)
    insert(
      db,
      'failure',
      of({
        curl: url(n),
        mimetype: 'text/html',
        psetid: roll(3) === 0 ? 0 : someSet(),
        code: 404,
        text: 't',
        at: n,
      }),
    );
  let queued = 0;
  for (const [index, psetid] of psetids.entries()) {
    const size = roll(6);
    const firstpos = places.take(size + 3) + 1;
    const lastpos = firstpos + size;
    insert(db, 'absorbed', {
      ...of({ uns: 'uns', entry: `${pid}-${index}`, psetid, firstpos, lastpos }),
      rowsdone: size,
      complete: 1,
      at: roll(1000),
    });
    const slots = new Set<number>();
    for (let pos = firstpos; pos <= lastpos; pos++) {
      if (roll(3) === 0) continue;
      const slot = roll(2) === 0 ? -1 : roll(24);
      slots.add(slot);
      const named = maybe(psetids[index + roll(psetids.length - index)]);
      insert(db, 'qdb', {
        ...of({ pos, curl: url(1000 + pos), mimetype: 'text/html', psetid, named, slot }),
        tries: roll(3),
        gen: 1 + roll(3),
        op: roll(2),
        md5: maybe('0'.repeat(32)),
        len: maybe(roll(1000)),
        tod: slot < 0 ? null : '1'.repeat(24),
        hops: maybe(roll(3)),
      });
      queued++;
    }
    for (const starttimeslot of slots)
      insert(db, 'qpsdb', of({ psetid, starttimeslot, firstpos, lastpos, absorbedat: 5, class: index % 2 }));
    if (roll(2) > 0) continue;
    insert(db, 'held', of({ psetid, state: roll(4), isfull: roll(2), urls: 3, digest: 'd', heldat: 9 }));
    for (let n = roll(3); n > 0; n--)
      insert(db, 'helddelete', { psetid, curl: url(n), mimetype: 'text/html' });
  }
  insert(db, 'known', of({ curl: url(5), code: 404, asked: 1, until: roll(1000), hops: 1 }));
  insert(db, 'truth', of({ day: 3, changed: roll(9), audited: 90, silent: roll(90) }));
  insert(db, 'pushday', of({ day: 3, door: 'feed', fetched: roll(9) }));
  let space = 0;
  const held = roll(8);
  for (let n = 1; n <= held; n++) {
    const [id, len] = [seqs.take(1 + roll(2)), roll(1000)];
    space += len;
    insert(db, 'lccurl', {
      ...of({ id, curl: url(n), mimetype: 'text/html', burl: maybe(url(n + 90)), md5: 'f'.repeat(32), len }),
      mtime: maybe('2001-01-01T00:00:00Z'),
      etag: maybe('"e"'),
      fetched_time: n,
      fetched_machineid: `m${roll(2)}`,
      fetched_fileid: fileIdOf({ id, gen: 0 }),
      psetid: someSet(),
      seq: roll(2) === 0 ? id : seqs.take(),
      hops: maybe(roll(3)),
    });
    if (roll(2) === 0) insert(db, 'visit', { id, checked: 1, n: roll(9), x: 0, t: 7 });
    if (roll(3) === 0)
      insert(
        db,
        'audit',
        of({ began: 2, id, curl: url(n), mimetype: 'text/html', state: roll(7), asked: 9, again: maybe(99) }),
      );
  }
  for (let n = roll(5); n > 0; n--)
    insert(
      db,
      'tombstone',
      of({
        seq: seqs.take(),
        id: seqs.take(),
        curl: url(n + 50),
        mimetype: 'text/html',
        deleted_time: n,
        moved: roll(2),
      }),
    );
  db.prepare('UPDATE pidb SET filesused = ?, spaceused = ?, nurlproc = ? WHERE pid = ?').run(
    held,
    space,
    queued,
    pid,
  );
}

/** All rows of a provider, with numbers of sets and places in their order in place of themselves. */
export function rowsOf(db: Db, pid: number): Record<string, Row[]> {
  const tables = CARRIED.map(({ table, order, where }) => {
    const sql = `SELECT * FROM ${table} WHERE ${where.replaceAll('home.', '')} ORDER BY ${order}`;
    const all =
      table === 'qpsdb'
        ? `SELECT DISTINCT psetid, pid, class, absorbedat FROM qpsdb WHERE pid = $pid ORDER BY psetid`
        : sql;
    return { table, rows: db.prepare<unknown[], Row>(all).all({ pid }) };
  });
  const inOrder = (columns: readonly string[]) => {
    const all = tables.flatMap(({ rows }) =>
      rows.flatMap(row => columns.map(column => Number(row[column] ?? 0))),
    );
    return [0, ...new Set(all.filter(value => value > 0).sort((a, b) => a - b))];
  };
  const sets = inOrder(['psetid', 'named', 'latestpsetid']);
  const shown = ([column, value]: [string, unknown]): [string, unknown][] => {
    if (['seq', 'pos', 'slot', 'errseq', 'firstpos', 'lastpos', 'fetched_fileid'].includes(column)) return [];
    if (['psetid', 'named', 'latestpsetid'].includes(column) && value !== null)
      return [[column, sets.indexOf(Number(value))]];
    return [[column, value]];
  };
  return Object.fromEntries(
    tables.map(({ table, rows }) => [
      table,
      rows.map(row =>
        Object.fromEntries(
          Object.entries(row)
            .filter(([column]) => table !== 'failure' || column !== 'id')
            .flatMap(shown),
        ),
      ),
    ]),
  );
}

/** Urls of each set that waits, in the range of places that the set has. */
export function placesOf(db: Db, pid: number): unknown[] {
  return db
    .prepare(
      `SELECT DISTINCT absorbedat, (SELECT group_concat(curl) FROM (SELECT curl FROM qdb
         WHERE pos BETWEEN firstpos AND lastpos AND qdb.psetid = qpsdb.psetid ORDER BY pos)) AS urls
       FROM qpsdb WHERE pid = ? ORDER BY psetid`,
    )
    .all(pid);
}

/** Everything in a database that is not of one provider. */
export function othersThan(db: Db, pid: number): Record<string, unknown[]> {
  const tables = CARRIED.map(({ table, where }) => {
    const condition = where.replaceAll('home.', '').replaceAll('= $pid', '<> $pid');
    const psets = table === 'absorbed' ? 'pid <> $pid' : table === 'qpsdb' ? 'pid <> $pid' : condition;
    return [table, db.prepare(`SELECT * FROM ${table} WHERE ${psets} ORDER BY 1, 2`).all({ pid })] as const;
  });
  return Object.fromEntries(tables);
}
