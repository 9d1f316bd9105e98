/** Homes that released versions have left (test/fixtures/homes), opened by this one: rows, cursors and queue
 * as they were. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openDatabase, SCHEMA_VERSION } from '../../src/db/sqlite/open.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { startDaemon, statusOf } from '../support/daemon.js';
import { ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const HOMES = join(ROOT, 'test/fixtures/homes');
const TABLES = ['pidb', 'proots', 'pierr', 'lccurl', 'tombstone', 'qdb', 'qpsdb', 'counter', 'meta'] as const;
type Row = Record<string, unknown>;
type Expected = Record<(typeof TABLES)[number], Row[]> & { version: string; changes: Row[]; held: Row[] };

/** Fields of a change that every release knows. */
const seen = ({ op, curl, mimetype, md5, seq }: Row) => ({ op, curl, mimetype, md5, seq });
const sorted = (rows: readonly Row[]) => rows.map(row => JSON.stringify(seen(row))).toSorted();

for (const version of ['0.1.0', '0.2.0'])
  describe(`a home of ${version}`, () => {
    let dir: string;
    let home: string;
    let expected: Expected;
    const unpack = () => {
      dir = mkdtempSync(join(tmpdir(), 'lcc-released-'));
      home = join(dir, 'home');
      const { status } = spawnSync('tar', ['-xzf', join(HOMES, `${version}.tar.gz`), '-C', dir]);
      assert.equal(status, 0);
      expected = JSON.parse(readFileSync(join(home, 'expected.json'), 'utf8')) as Expected;
      assert.equal(expected.version, version);
    };
    before(unpack);
    after(() => rmSync(dir, { recursive: true }));

    const lccq = (...args: string[]): Row[] => {
      const { status, stdout, stderr } = runCommand(home, 'lccq', ['--format=jsonl', ...args]);
      assert.equal(status, 0, stderr);
      return stdout
        .split('\n')
        .filter(line => line !== '')
        .map(line => JSON.parse(line) as Row);
    };

    it('is small, and has what the test is about', () => {
      assert.ok(statSync(join(HOMES, `${version}.tar.gz`)).size < 64 * 1024);
      assert.equal(expected.lccurl.length, 3);
      assert.equal(expected.tombstone.length, 1);
      assert.equal(expected.qdb.length, 2);
      assert.equal(expected.pierr.length, 1);
      assert.equal(expected.changes.length, 3);
      const spool = readdirSync(join(home, 'spool/uns'), { recursive: true }).map(String);
      assert.equal(spool.filter(path => /\/new\/./.test(path)).length, 1);
    });

    it('is not read before somebody has upgraded it, and says so in a line', () => {
      const { status, stderr } = runCommand(home, 'lccq', ['--count']);
      assert.equal(status, 78);
      assert.match(
        stderr,
        /^lccq: \S+lcc\.db: schema \d of an older LCC; lccd upgrades it when it starts\n$/,
      );
    });

    it('has its rows, its queue and its counters as they were', () => {
      openDatabase(join(home, 'lcc.db')).close();
      const db = openSqlite(join(home, 'lcc.db'), { readonly: true });
      assert.equal(db.pragma('user_version', { simple: true }), SCHEMA_VERSION);
      assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
      for (const table of TABLES) {
        const rows = db.prepare<[], Row>(`SELECT * FROM ${table} ORDER BY 1, 2`).all();
        // What is new in a row is not compared; what was there is.
        const before = expected[table].map((row, i) =>
          Object.fromEntries(Object.keys(row).map(column => [column, rows[i]?.[column]])),
        );
        assert.deepEqual(before, expected[table], table);
        assert.equal(rows.length, expected[table].length, table);
      }
      db.close();
    });

    it('answers content users, and a cursor of then, as the old release did', () => {
      assert.deepEqual(sorted(lccq()), sorted(expected.held));
      assert.deepEqual(sorted(lccq(`--cursor=${home}/index.cursor`)), sorted(expected.changes));
      const [page] = lccq('--prefix=http://127.0.0.1:18099/p1.html');
      assert.equal(readFileSync(String(page?.['file']), 'utf8'), 'page 1, changed\n');
    });

    it('is sound', () => {
      const { status, stdout, stderr } = runCommand(home, 'lccfsck', []);
      assert.deepEqual({ status, stdout }, { status: 0, stdout: '' }, stderr);
    });

    it('has databases of cache clearing, the Spider and registration that are opened, too', async () => {
      const versionOf = (file: string) => {
        const db = openSqlite(join(home, file), { readonly: true });
        try {
          return Number(db.pragma('user_version', { simple: true }));
        } finally {
          db.close();
        }
      };
      const { status, stderr } = runCommand(home, 'lccrail', ['target', 'rm', 'www']);
      assert.equal(status, 0, stderr);
      const stored = startDaemon('lccstored', home, [`--listen=unix:${dir}/stored.sock`]);
      await stored.ready;
      await stored.stop();
      const [store, clear] = ['spider/store/store.db', 'clear/clear.db'].map(versionOf);
      assert.deepEqual([store, clear], [2, 1]);
    });

    it('goes on: the set in the spool is taken, what waits waits', async () => {
      const lccd = startDaemon('lccd', home, [
        `--listen=unix:${dir}/uns.sock`,
        '--allow-address=127.0.0.0/8',
      ]);
      await lccd.ready;
      try {
        await until('the set is taken', async () => {
          const { sets_spooled: spooled } = await statusOf(home, 'lccd-uns');
          return spooled === 0;
        });
        const { stdout } = runCommand(home, 'lccpidb', ['show', '--pid=2', '--json']);
        const { nurlproc, paused } = JSON.parse(stdout) as Row;
        assert.deepEqual([nurlproc, paused], [2, 1]);
        assert.match(runCommand(home, 'lccpidb', ['show', '--pid=1', '--json']).stdout, /"nurlproc":[1-9]/);
        // lccd-rs has upgraded its own.
        if (version !== '0.1.0') assert.equal(runCommand(home, 'lccrs', ['list']).status, 0);
      } finally {
        await lccd.stop();
      }
    });
  });

describe('a home of a newer LCC', () => {
  it('is refused in one line, and stays as it is', () => {
    const home = mkdtempSync(join(tmpdir(), 'lcc-newer-'));
    try {
      const path = join(home, 'lcc.db');
      openDatabase(path).close();
      const db = openSqlite(path);
      db.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
      db.close();
      const before = readFileSync(path);
      for (const [command, ...args] of [
        ['lccd', `--listen=unix:${home}/uns.sock`],
        ['lccq', '--count'],
        ['lccpidb', 'list'],
        ['lccfsck', '--repair'],
        ['lccctl', 'backup', `${home}-copy`],
      ] as const) {
        const { status, stderr } = runCommand(home, command, args);
        assert.equal(status, 78, `${command}: ${stderr}`);
        const said = stderr.split('\n').filter(line => /newer LCC/.test(line));
        assert.equal(said.length, 1, stderr);
        assert.match(
          said[0] ?? '',
          /lcc\.db: schema \d+ was written by a newer LCC \(this one knows \d+\); use that one/,
        );
      }
      assert.ok(readFileSync(path).equals(before));
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});
