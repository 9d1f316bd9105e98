/** A home with cache clearing: rails, a database with their targets, requests for their pages. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClearDatabase } from '../../src/db/clear/database.js';
import { COMMAND_BUSY_MS } from '../../src/db/clear/open.js';
import type { RailSetup } from '../../src/db/clear/rails.js';
import { Daemons, statusOf, type Daemon } from './daemon.js';
import { startRail, type RailKind, type TestRail } from './rails.js';
import { until } from './until.js';

export class ClearHome {
  readonly dir: string;
  readonly daemons = new Daemons();
  readonly rails: TestRail[] = [];
  readonly db: ClearDatabase;

  /** @param settings of section `[clear]` @param dir that is there; a new one by default */
  constructor(
    settings: Record<string, string | number | boolean> = {},
    dir = mkdtempSync(join(tmpdir(), 'lcc-home-')),
  ) {
    this.dir = dir;
    const lines = Object.entries(settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
    writeFileSync(join(this.dir, 'lcc.toml'), `[clear]\n${lines.join('')}`);
    this.db = ClearDatabase.open(join(this.dir, 'clear/clear.db'), COMMAND_BUSY_MS);
    this.db.targets.put({ name: 'www', kind: 'elementary', lbUrl: null, host: null });
    this.db.targets.addPath({ contentType: 'page', target: 'www', path: '/', extension: '.html' });
  }

  /** Starts rails of the one target, `www`, and adds them. */
  async addRails(
    kinds: readonly RailKind[],
    setup: Partial<RailSetup> = {},
    directives = '',
  ): Promise<TestRail[]> {
    const added: TestRail[] = [];
    for (const kind of kinds) {
      const rail = await startRail(kind, join(this.dir, `r${this.rails.length + 1}`), directives);
      this.rails.push(rail);
      added.push(rail);
      this.addRail(rail.name, { url: rail.url, driver: `${kind}-dav`, ...setup });
    }
    return added;
  }

  /** Adds a rail that is there already. */
  addRail(name: string, setup: Partial<RailSetup> & { url: string }): void {
    const defaults = {
      target: 'www',
      driver: 'apache-dav',
      tier: 0,
      workers: 4,
      host: null,
      authRef: null,
    } as const;
    this.db.rails.add({ name, ...defaults, cleanup: 'exact', opts: '{}', ...setup }, Date.now());
  }

  /** Queues requests for contents of type `page`. */
  request(
    ids: readonly string[],
    more: { force?: boolean; target?: string; contentType?: string } = {},
  ): void {
    const { force = false, target = 'www', contentType = 'page' } = more;
    this.db.write(() => {
      for (const contentId of ids)
        this.db.queue.add({ contentId, contentType, target, force, source: 'test' }, Date.now());
    });
  }

  startHard(env: NodeJS.ProcessEnv = {}): Daemon {
    return this.daemons.start('lccd-hard', this.dir, ['--verbose'], env);
  }

  status(): Promise<Record<string, unknown>> {
    return statusOf(this.dir, 'lccd-hard');
  }

  /** Waits until no request is queued, and no rail that is up has a backlog. */
  async untilClear(): Promise<void> {
    const { db } = this;
    const isBusy = (name: string) => db.rails.get(name)?.state === 'UP' && db.backlog.has(name, 'D');
    await until(
      'nothing is queued',
      () => db.queue.count(1) === 0 && !this.rails.some(({ name }) => isBusy(name)),
    );
  }

  async end(): Promise<void> {
    await this.daemons.end();
    await Promise.all(this.rails.map(rail => rail.stop()));
    this.db.close();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Urls of contents with these ids. */
export function pagesOf(ids: readonly string[]): string[] {
  return ids.map(id => `/${id}.html`);
}

export function idsOf(count: number, prefix = 'news/p'): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}
