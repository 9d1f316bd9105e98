/** Ten million rows as xml: as fast a row as a tenth of them, with no more memory. Only when asked for by name. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { timeShell, type Outcome } from './harness.js';
import { fill } from './lccq.js';

const lccq = join(dirname(fileURLToPath(import.meta.url)), '../../bin/lccq');
const ROWS = Number(process.env['LCC_BENCH_EXPORT_ROWS'] ?? 10_000_000);
const FEW = ROWS / 10;
const MB = 1024 * 1024;

export async function bench(): Promise<Outcome[]> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-bench-export-'));
  try {
    const measured = [ROWS, FEW].map(rows => {
      const home = join(dir, String(rows));
      fill(home, rows);
      const env = { ...process.env, LCC_HOME: home };
      const { seconds, maxRssBytes = NaN } = timeShell(`${lccq} --format=xml >/dev/null`, { env });
      return {
        name: `lccq, ${rows.toLocaleString('en-US')} rows`,
        ratePerSecond: rows / seconds,
        maxRssBytes,
      };
    });
    const [many, few] = measured.map(line => line.maxRssBytes);
    return [
      {
        work: `lccq: ${ROWS.toLocaleString('en-US')} rows as xml`,
        unit: 'rows',
        rounds: 1,
        lines: measured,
        bounds: [
          {
            what: `memory beyond that with ${FEW.toLocaleString('en-US')} rows`,
            value: ((many ?? NaN) - (few ?? NaN)) / MB,
            atMost: 24,
            unit: 'MB',
          },
        ],
      },
    ];
  } finally {
    rmSync(dir, { recursive: true });
  }
}
