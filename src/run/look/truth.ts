/** Worth of providers' announcements, as a table or as JSON. */
import type { ProviderTruth } from '../../db/truth/reader.js';

const HEAD = ['PID', 'TRUTH', 'P', 'R', 'C', 'S', 'F', 'NEW', 'A', 'Q', 'LATE', 'DEAD', 'NOISY', 'AUDITED'];

/** Columns aligned; of the last audit which share of what is held is silent, in percent. */
export function formatTruth(all: readonly ProviderTruth[]): string {
  const rows = [HEAD, ...all.map(rowOf)];
  const widths = HEAD.map((_, i) => Math.max(...rows.map(row => row[i]?.length ?? 0)));
  return rows.map(row => `${row.map((cell, i) => cell.padStart(widths[i] ?? 0)).join('  ')}\n`).join('');
}

function rowOf({ pid, truth, precision, recall, counts, audit }: ProviderTruth): string[] {
  const { changed, same, failed, fresh, audited, silent, late, dead, noisy } = counts;
  const date = audit && new Date(audit.at * 1000).toISOString().slice(0, 10);
  return [
    String(pid),
    String(truth),
    precision.toFixed(2),
    recall.toFixed(2),
    ...[changed, same, failed, fresh, audited, silent, late, dead, noisy].map(count => String(tenths(count))),
    audit === undefined ? 'never' : `${date} ${percent(audit.least)}-${percent(audit.most)}%`,
  ];
}

/** One object a provider. */
export function truthJson(all: readonly ProviderTruth[]): object[] {
  return all.map(({ pid, truth, precision, recall, counts, audit, hasEffects }) => ({
    pid,
    truth,
    P: thousandths(precision),
    R: thousandths(recall),
    c: tenths(counts.changed),
    s: tenths(counts.same),
    f: tenths(counts.failed),
    new: tenths(counts.fresh),
    a: tenths(counts.audited),
    q: tenths(counts.silent),
    late: tenths(counts.late),
    dead: tenths(counts.dead),
    noisy: tenths(counts.noisy),
    effects: hasEffects,
    audited:
      audit === undefined
        ? null
        : {
            at: audit.at,
            settled: audit.settled,
            silent: audit.silent,
            least_percent: percent(audit.least),
            most_percent: percent(audit.most),
          },
  }));
}

function tenths(n: number): number {
  return Math.round(n * 10) / 10;
}

function thousandths(n: number): number {
  return Math.round(n * 1000) / 1000;
}

function percent(share: number): number {
  return tenths(100 * share);
}
