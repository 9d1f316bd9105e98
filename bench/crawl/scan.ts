/** lccscan on a database of many pages that have been asked for before. */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addProvider } from '../../src/db/providers/pidb.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { generatePassword, hashPassword } from '../../src/lib/password.js';
import { ROOT } from '../../test/support/tree.js';
import { median, requireProgram, timeShell, type Outcome } from '../harness.js';

const ROWS = Number(process.env['LCC_BENCH_SCAN_ROWS'] ?? 10_000_000);
const PROVIDERS = 100;
const ROUNDS = 3;
/** For ten million; as much less for fewer. */
const MOST_SECONDS = (20 * ROWS) / 10_000_000;
const MOST_MB = 100;
const MB = 1024 * 1024;
const DAY_S = 86_400;

export function benchScan(): Outcome[] {
  requireProgram('/usr/bin/time', 'time');
  const home = join(tmpdir(), `lcc-bench-scan-${ROWS}`);
  if (!existsSync(home)) makeHome(home);
  const env = { ...process.env, LCC_HOME: home, LCC_CONFIG: '' };
  const samples = Array.from({ length: ROUNDS }, () => timeShell(`${ROOT}/bin/lccscan -q`, { env }));
  const seconds = median(samples.map(sample => sample.seconds));
  const maxRssBytes = Math.max(...samples.map(sample => sample.maxRssBytes ?? NaN));
  return [
    {
      work: `lccscan: ${ROWS.toLocaleString('en-US')} pages of ${PROVIDERS} providers`,
      unit: 'pages',
      rounds: ROUNDS,
      lines: [{ name: 'lccscan', ratePerSecond: ROWS / seconds, maxRssBytes }],
      bounds: [
        { what: 'time', value: seconds, atMost: MOST_SECONDS, unit: 's' },
        { what: 'largest resident set', value: maxRssBytes / MB, atMost: MOST_MB, unit: 'MB' },
      ],
    },
  ];
}

/** Of every page it is known how it changed, but for each tenth, which was fetched once; each was asked for within 80 days. */
function makeHome(home: string): void {
  const half = `${home}.half`;
  rmSync(half, { recursive: true, force: true });
  mkdirSync(half, { recursive: true });
  const db = openDatabase(join(half, 'lcc.db'));
  db.pragma('synchronous = OFF');
  db.pragma('cache_size = -1000000');
  const nowS = Math.floor(Date.now() / 1000);
  const counted = db.prepare('UPDATE pidb SET spider = 1, filesused = ? WHERE pid = ?');
  const row = db.prepare(
    `INSERT INTO lccurl(id, pid, curl, mimetype, md5, len, lastmodified, fetched_time, fetched_machineid, fetched_fileid, psetid,
       seq, served, hops) VALUES (?, ?, ?, 'text/html', ?, 4096, 'Fri, 20 Nov 2026 10:13:01 GMT', ?, 'local', ?, 1, ?, 1, 3)`,
  );
  const visit = db.prepare('INSERT INTO visit(id, checked, n, x, t) VALUES (?, ?, ?, ?, ?)');
  const each = ROWS / PROVIDERS;
  for (let p = 0; p < PROVIDERS; p++)
    db.transaction(() => {
      addProvider(db, p + 1, hashPassword(generatePassword()), { filesmax: ROWS }, [
        `https://www${p}.example.org/`,
      ]);
      counted.run(each, p + 1);
      for (let i = 0; i < each; i++) {
        const id = p * each + i + 1;
        // Numbers that look like those of chance, the same in every run.
        const chance = Math.imul(id, 2_654_435_761) >>> 0;
        const checked = nowS - 2 * 3600 - (chance % (80 * DAY_S));
        const curl = `https://www${p}.example.org/articles/${i % 1000}/page-${String(i).padStart(8, '0')}.html`;
        row.run(id, p + 1, curl, chance.toString(16).padStart(8, '0').repeat(4), checked, `00/${id}`, id);
        if (id % 10 !== 0)
          visit.run(
            id,
            checked,
            1 + (chance % 15),
            (chance >>> 8) % (1 + (chance % 15)),
            DAY_S * (1 + (chance % 100)),
          );
      }
    })();
  db.prepare("UPDATE counter SET value = ? WHERE name = 'seq'").run(ROWS);
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  renameSync(half, home);
}
