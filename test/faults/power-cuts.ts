/**
 * A whole LCC on a disk of its own, with the power cut again and again, while a CP delivers sets and is told that they
 * are accepted. What was accepted is never sent again. At the end every page is stored as it is, and nothing else.
 */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { Disk, XFS_BYTES, type FileSystem } from '../support/disk.js';
import { Lcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

/** Of one set: each waits until the LCC is up again. */
const MAX_TRIES = 1000;
/** So long a life waits for its step. */
const STEP_MS = 4000;
const EXT4_BYTES = 192 * 1024 * 1024;
/**
 * By itself Linux writes what nobody has synced after 30 s, and ext4 commits what refers to it within 5 s: on a slow machine
 * it would be on disk before the power goes.
 */
const COMMIT_S = 300;

export interface PowerFigures {
  cuts: number;
  accepted: number;
  stored: number;
  /** Rows with damaged content, as the log reports them. */
  fetchedAgain: number;
  lost: string[];
  wrong: string[];
  /** Stored although it was deleted. */
  revived: string[];
  /** What lccfsck found, by kind, before its repair, and all it found after. */
  found: Record<string, number>;
  left: string;
}

/** Sync points come often, so that cuts meet them. */
const TOML = `qm.check_window = 16
qm.retry_delay_ms = 50
qm.backoff_min_ms = 50
qm.backoff_max_ms = 200
bm.min_free_disk_percent = 0
uns.min_free_disk_percent = 0
`;

/** An LCC on a disk that loses its power. */
export class PoweredLcc {
  readonly site: TestSite;
  readonly disk: Disk;
  readonly lcc: Lcc;
  /** Environment of the daemons, at every start. */
  readonly env: Record<string, string>;
  cuts = 0;

  private constructor(site: TestSite, type: FileSystem, toml: string, env: Record<string, string>) {
    this.site = site;
    this.disk =
      type === 'xfs'
        ? new Disk(type, XFS_BYTES)
        : new Disk(type, EXT4_BYTES, undefined, [`commit=${COMMIT_S}`]);
    this.lcc = new Lcc(`${site.url}/`, toml, this.disk.path);
    this.env = env;
  }

  /** @param env of the daemons, at every start */
  static async on(
    type: FileSystem,
    syncIntervalMs: number,
    env: Record<string, string> = {},
  ): Promise<PoweredLcc> {
    const toml = `qm.sync_interval_ms = ${syncIntervalMs}\n${TOML}`;
    const powered = new PoweredLcc(await TestSite.listen(), type, toml, env);
    await powered.lcc.addProvider();
    // What an operator has set up is there for long.
    powered.disk.sync();
    return powered;
  }

  start(env: Record<string, string> = {}): void {
    this.lcc.launch({ ...this.env, ...env });
  }

  /** The power goes, and comes again. */
  async cut(env: Record<string, string> = {}): Promise<void> {
    this.cuts++;
    this.disk.cutPower();
    await this.lcc.killAll();
    await this.disk.unmount();
    this.disk.mount();
    this.start(env);
  }

  get fetchedAgain(): number {
    let sum = 0;
    for (const [, count] of this.lcc.log.matchAll(/"fetched_again":(\d+)/g)) sum += Number(count);
    return sum;
  }

  /** Pages that are not stored as they are, and what is stored of them. */
  async judge(): Promise<Pick<PowerFigures, 'stored' | 'lost' | 'wrong' | 'revived'>> {
    await this.lcc.idle();
    const { rows } = await this.lcc.holdings();
    const held = new Map(rows.map(row => [row.slice(0, row.indexOf(' ')), row.slice(row.indexOf(' ') + 1)]));
    const verdict = {
      stored: rows.length,
      lost: [] as string[],
      wrong: [] as string[],
      revived: [] as string[],
    };
    for (const [path, page] of this.site.pages) {
      const found = held.get(path.slice(1));
      held.delete(path.slice(1));
      if (found === undefined) verdict.lost.push(path);
      else if (found !== md5Of(page)) verdict.wrong.push(`${path}: ${found}`);
    }
    verdict.revived = [...held.keys()];
    return verdict;
  }

  async close(): Promise<void> {
    await this.lcc.killAll();
    this.site.close();
    await this.disk.remove();
  }
}

export interface PowerOptions {
  type: FileSystem;
  cuts: number;
  /** Changed in every set. */
  pages: number;
  seed: number;
  /** Half of the cuts come when one of these has been reached and its process was killed. */
  steps: readonly string[];
}

export async function powerRun({ type, cuts, pages, seed, steps }: PowerOptions): Promise<PowerFigures> {
  const powered = await PoweredLcc.on(type, 1000);
  const { site, lcc } = powered;
  const random = randomFrom(seed);
  let accepted = 0;
  const state = { isOver: false };
  try {
    powered.start();
    const delivering = (async () => {
      for (let version = 1; !state.isOver; version++)
        accepted += await change(lcc, site, version, pages, random);
    })();
    // It is waited for below; should something else fail before, that is what is told.
    delivering.catch(() => undefined);
    for (let n = 0; n < cuts; n++) {
      const step = n % 2 === 0 ? undefined : steps[Math.floor(random() * steps.length)];
      const crashed = powered.disk.outside(`crashed-${n}`);
      if (step !== undefined) {
        // The next life has it; this one ends like any other.
        await powered.cut({
          LCC_CRASH_AT: `${step}:${1 + Math.floor(random() * 3)}`,
          LCC_CRASH_ONCE: crashed,
        });
        // It may never be reached in this life.
        await until(`death at ${step}`, () => existsSync(crashed), STEP_MS).catch(() => undefined);
      } else {
        await new Promise(resolve => void setTimeout(resolve, 300 + random() * 1500));
      }
      await powered.cut();
    }
    state.isOver = true;
    await delivering;
    const verdict = await powered.judge();
    const { fetchedAgain } = powered;
    await lcc.stop();
    const found = kindsOf(await lcc.run('lccfsck -q --repair'));
    const left = await lcc.run('lccfsck -q');
    return { cuts: powered.cuts, accepted, ...verdict, fetchedAgain, found, left };
  } finally {
    state.isOver = true;
    lcc.abandon();
    await powered.close();
  }
}

/** Some pages change, come and go; a set says so until it is accepted. @returns urls accepted */
async function change(
  lcc: Lcc,
  site: TestSite,
  version: number,
  count: number,
  random: () => number,
): Promise<number> {
  const tags = new Map<string, string>();
  for (let n = 0; n < count; n++) {
    const name = `p${Math.floor(random() * count * 8)}.html`;
    if (random() < 0.1) {
      site.pages.delete(`/${name}`);
      tags.set(name, urlTag(name, ' op="delete"'));
    } else {
      site.pages.set(`/${name}`, `version ${version} of ${name} ${'x'.repeat(random() * 9000)}`);
      tags.set(name, urlTag(name));
    }
  }
  for (let tries = 1, isAccepted = false; !isAccepted; tries++) {
    if (tries > MAX_TRIES) throw new Error('no set is accepted any more');
    // A disk without power is a reason to come back later.
    isAccepted = await lcc.deliver('partial', [...tags.values()]).then(
      () => true,
      () => false,
    );
  }
  return tags.size;
}

function md5Of(text: string): string {
  return createHash('md5').update(text).digest('hex');
}

/** How often each kind stands at the beginning of a line. */
export function kindsOf(findings: string): Record<string, number> {
  const kinds: Record<string, number> = {};
  for (const line of findings.split('\n').slice(0, -1)) {
    const kind = line.split('\t')[0] ?? '';
    kinds[kind] = (kinds[kind] ?? 0) + 1;
  }
  return kinds;
}

/** Repeatable numbers in [0, 1) from a seed. */
export function randomFrom(seed: number): () => number {
  let drawn = 0;
  return () => createHash('md5').update(`${seed} ${drawn++}`).digest().readUInt32BE() / 2 ** 32;
}
