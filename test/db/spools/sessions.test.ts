import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { openSqlite } from '../../../src/lib/sqlite.js';
import { SessionStore, type AdmittedLogin, type SessionBegun } from '../../../src/db/spools/sessions.js';

const dir = mkdtempSync(join(tmpdir(), 'lcc-sessions-'));
after(() => rmSync(dir, { recursive: true }));
let files = 0;
const newPath = () => join(dir, `${++files}.db`);
const NEVER = { seq: 0, ip: '' };

/** Numbers connections, all in one transaction. */
function begin(store: SessionStore, beginnings: readonly AdmittedLogin[]): SessionBegun[] {
  return store.commit(() => beginnings.map(beginning => store.number(beginning)));
}

/** Provider 7 has received errors. */
function receive(store: SessionStore, errseen: number): void {
  store.commit(() => store.received(7, errseen));
}

describe('the numbers of connections', () => {
  it('go on after a restart, and remember where the last one came from', () => {
    const path = newPath();
    const first = new SessionStore(path);
    const [begun] = begin(first, [{ pid: 7, ip: '192.0.2.1', known: NEVER }]);
    assert.deepEqual(begun, { seq: 1, lastIp: '', errseen: 0 });
    first.close();
    const second = new SessionStore(path);
    const [next] = begin(second, [{ pid: 7, ip: '192.0.2.2', known: NEVER }]);
    assert.deepEqual([next?.seq, next?.lastIp], [2, '192.0.2.1']);
    second.close();
  });

  it('go on from the database when that is ahead, as after the loss of the spool', () => {
    const store = new SessionStore(newPath());
    const [begun] = begin(store, [{ pid: 7, ip: '', known: { seq: 41, ip: '192.0.2.9' } }]);
    assert.deepEqual([begun?.seq, begun?.lastIp], [42, '192.0.2.9']);
    store.close();
  });

  it('are never given twice by two UNSes that share them', () => {
    const path = newPath();
    const [one, other] = [new SessionStore(path), new SessionStore(path)];
    const seqs = [one, other, one, other].map(
      store => begin(store, [{ pid: 7, ip: '', known: NEVER }])[0]?.seq,
    );
    assert.deepEqual(seqs, [1, 2, 3, 4]);
    one.close();
    other.close();
  });

  it('are known to all that share them, the newest of each provider', () => {
    const path = newPath();
    const [one, other] = [new SessionStore(path), new SessionStore(path)];
    assert.equal(one.numbering, other.numbering);
    assert.notEqual(one.numbering, new SessionStore(newPath()).numbering);
    assert.equal(one.newest(7), 0);
    begin(one, [{ pid: 7, ip: '', known: NEVER }]);
    begin(other, [{ pid: 7, ip: '', known: NEVER }]);
    assert.deepEqual([one.newest(7), other.newest(7), one.newest(8)], [2, 2, 0]);
    one.close();
    other.close();
  });

  it('go on above those that accepted sets name, and never back', () => {
    const store = new SessionStore(newPath());
    const login = { pid: 7, ip: 'a', known: NEVER };
    begin(store, [login]);
    store.raise(
      new Map([
        [7, 5],
        [8, 3],
      ]),
    );
    store.raise(new Map([[7, 2]]));
    const begun = begin(store, [login, { ...login, pid: 8 }]);
    assert.deepEqual(
      begun.map(({ seq }) => seq),
      [6, 4],
    );
    assert.equal(begun[0]?.lastIp, 'a');
    store.close();
  });

  it('that cannot be read fail for the set that needs them, not for the process', () => {
    const path = newPath();
    const store = new SessionStore(path);
    const other = openSqlite(path);
    other.exec('DROP TABLE session');
    other.close();
    assert.throws(() => store.newest(7), { code: 'data.malformed' });
    store.close();
    assert.throws(() => store.newest(7), { code: 'io' });
  });

  it('are given one after the other within one batch', () => {
    const store = new SessionStore(newPath());
    const login = { pid: 7, ip: 'a', known: NEVER };
    const begun = begin(store, [login, { ...login, ip: 'b' }, { ...login, pid: 8 }]);
    assert.deepEqual(
      begun.map(({ seq, lastIp }) => [seq, lastIp]),
      [
        [1, ''],
        [2, 'a'],
        [1, ''],
      ],
    );
    store.close();
  });
});

it('a database with a damaged page, whichever it is, is refused with what to move away', () => {
  const path = newPath();
  const store = new SessionStore(path);
  begin(store, [{ pid: 7, ip: 'a', known: NEVER }]);
  store.close();
  const whole = readFileSync(path);
  const pages = whole.length / 4096;
  assert.ok(pages > 2);
  for (let from = 1; from < pages; from++)
    for (const to of [from + 1, pages]) {
      writeFileSync(path, Buffer.from(whole).fill(0x55, from * 4096, to * 4096));
      assert.throws(() => new SessionStore(path), {
        code: 'data.malformed',
        message: /\.db: database damaged \([^]*\); stop lccd-uns and move it away/,
      });
    }
});

describe('notes to the Queue Manager', () => {
  it('are due for every session until they are confirmed, also across a restart', () => {
    const path = newPath();
    const store = new SessionStore(path);
    begin(store, [{ pid: 7, ip: 'a', known: NEVER }]);
    receive(store, 12);
    assert.deepEqual(store.unnoted(10), [{ pid: 7, seq: 1, ip: 'a', errseen: 12 }]);
    store.confirm(7, 1, 12);
    assert.deepEqual(store.unnoted(10), []);
    store.close();
    const again = new SessionStore(path);
    assert.deepEqual(again.unnoted(10), []);
    begin(again, [{ pid: 7, ip: 'a', known: NEVER }]);
    assert.equal(again.unnoted(10).length, 1);
    again.close();
  });

  it('of one provider are due at the UNS that numbered its session, once more when errors are received', () => {
    const path = newPath();
    const [here, there] = [new SessionStore(path), new SessionStore(path)];
    begin(here, [{ pid: 7, ip: 'a', known: NEVER }]);
    const due = () => [here.unnotedOf(7)?.errseen, there.unnotedOf(7)?.errseen];
    assert.deepEqual(due(), [0, undefined]);
    here.confirm(7, 1, 0);
    assert.deepEqual(due(), [undefined, undefined]);
    receive(here, 12);
    assert.deepEqual(due(), [12, undefined]);
    here.confirm(7, 1, 0);
    assert.deepEqual(due(), [12, undefined]);
    here.confirm(7, 1, 12);
    assert.deepEqual(due(), [undefined, undefined]);
    here.close();
    there.close();
  });

  it('say again when the mark has moved on, and never move it back', () => {
    const store = new SessionStore(newPath());
    begin(store, [{ pid: 7, ip: 'a', known: NEVER }]);
    store.confirm(7, 1, 0);
    receive(store, 12);
    receive(store, 5);
    assert.deepEqual(
      store.unnoted(10).map(({ errseen }) => errseen),
      [12],
    );
    const [begun] = begin(store, [{ pid: 7, ip: 'a', known: NEVER }]);
    assert.equal(begun?.errseen, 12);
    store.close();
  });
});
