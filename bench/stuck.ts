/** Says what a bench waits for: an LCC that is not idle and makes no progress for a while is asked why. */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { statusOf } from '../test/support/daemon.js';
import { ROOT } from '../test/support/tree.js';

/** One question per interval does not show in what is measured. */
const EVERY_MS = 10_000;
/** Figures of the Queue Manager that change while it gets on. */
const PROGRESS = ['stored', 'unchanged', 'errors', 'retries', 'rows_queued', 'absorbing'];

/** Watches the LCC of a home until the function returned is called; what is new of why it waits goes to stderr. */
export function sayWhatFor(home: string): () => void {
  let before = '';
  const said = new Set<string>();
  const look = async () => {
    const status = await statusOf(home, 'lccd-qm');
    const now = PROGRESS.map(name => String(status[name])).join(' ');
    const isStuck = now === before && status['idle'] !== true;
    before = now;
    if (!isStuck) return;
    for (const reason of reasonsOf(home)) {
      if (said.has(reason)) continue;
      said.add(reason);
      console.error(`bench waits: ${reason}`);
    }
  };
  // A daemon that ends meanwhile is somebody else's to report.
  const timer = setInterval(() => void look().catch(() => undefined), EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}

function reasonsOf(home: string): string[] {
  const env = { ...process.env, LCC_HOME: home };
  const { stdout } = spawnSync(process.execPath, [join(ROOT, 'bin/lccstat'), '--json'], {
    env,
    encoding: 'utf8',
  });
  const { reasons } = JSON.parse(stdout) as { reasons: string[] };
  return reasons.length > 0 ? reasons : ['lccstat knows no reason'];
}
