/** The keeper of keeper-probe.ts as tests see it, and the home and the engine that it works for. */
import assert from 'node:assert/strict';
import { fork, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { HomeCopy } from '../../src/keep/copy.js';
import { systemClock as clock } from '../../src/lib/clock.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { atEnd } from './at-end.js';
import { FolderLedger } from './folder-ledger.js';
import type { FromKeeper, KeeperFigures, ToKeeper } from './keeper-probe.js';
import type { KillEnv } from './kills.js';
import { BOUND_MS, until, within } from './until.js';

const PROBE = fileURLToPath(new URL('keeper-probe.js', import.meta.url));

export class Keeper {
  readonly #child: ChildProcess;
  readonly said: FromKeeper[] = [];
  readonly #ended: Promise<unknown>;
  #asked = 0;

  constructor(path: string, folder: string, epoch: number, env: KillEnv = {}) {
    this.#child = fork(PROBE, [path, folder, String(epoch)], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (said: FromKeeper) => void this.said.push(said));
    this.#ended = once(this.#child, 'exit');
  }

  get isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** How it found the home. */
  async began(): Promise<string> {
    return (await this.#heard(said => ('began' in said ? said : undefined))).began;
  }

  /** True once all that was committed is in the engine; false when the keeper has died before. */
  async shipped(boundMs = BOUND_MS): Promise<boolean> {
    const n = ++this.#asked;
    if (!this.#tell({ ask: n })) return false;
    const look = () =>
      this.said.some(said => 'shipped' in said && said.shipped === n) ? 'yes' : this.isOver && 'no';
    const answer = await until('an answer', look, boundMs);
    return answer === 'yes';
  }

  async figures(): Promise<KeeperFigures> {
    const before = this.said.length;
    this.#tell('figures');
    const { figures } = await this.#heard(said => ('figures' in said ? said : undefined), before);
    return figures;
  }

  /** Waits for the first base. */
  async complete(): Promise<void> {
    await until('a base', async () => (await this.figures()).isComplete);
  }

  /** Ends in order. */
  async end(): Promise<void> {
    this.#tell('end');
    await within('the end of a keeper', this.#ended);
  }

  /** Kills it, and does not wait. */
  cut(): void {
    this.#child.kill('SIGKILL');
  }

  async kill(): Promise<void> {
    this.cut();
    await within('the death of a keeper', this.#ended);
  }

  async #heard<T>(find: (said: FromKeeper) => T | undefined, from = 0): Promise<T> {
    const found = await until('a word of the keeper', () => {
      const heard = this.said.slice(from).map(find);
      return heard.find(one => one !== undefined) ?? (this.isOver ? 'over' : undefined);
    });
    assert.notEqual(found, 'over', JSON.stringify(this.said));
    return found as T;
  }

  #tell(told: ToKeeper): boolean {
    if (this.isOver || !this.#child.connected) return false;
    this.#child.send(told, () => undefined);
    return true;
  }
}

/** A home with lcc.db, and an engine. */
export class KeptHome {
  readonly folder = mkdtempSync(join(tmpdir(), 'lcc-keep-'));
  readonly path = join(this.folder, 'home/lcc.db');
  readonly engine = join(this.folder, 'engine');
  readonly ledger = new FolderLedger(this.engine);
  readonly #keepers: Keeper[] = [];
  #copies = 0;

  constructor() {
    mkdirSync(dirname(this.path));
    this.ledger.init('lcc', 1);
    atEnd(() => {
      for (const keeper of this.#keepers) keeper.cut();
      rmSync(this.folder, { recursive: true, force: true });
    });
  }

  keeper(env: KillEnv = {}, epoch = 1): Keeper {
    const keeper = new Keeper(this.path, this.engine, epoch, env);
    this.#keepers.push(keeper);
    return keeper;
  }

  /** The file that another machine makes of what the engine has. */
  async copied(): Promise<string> {
    const path = join(this.folder, `copy-${++this.#copies}/lcc.db`);
    await new HomeCopy({ name: 'lcc', path, ledger: this.ledger, clock }).finish(
      new AbortController().signal,
    );
    return path;
  }

  /** Compares what the engine has with the home, byte by byte. Nobody commits meanwhile. */
  async requireSame(when: string): Promise<void> {
    const copy = await this.copied();
    const moved = join(dirname(copy), 'moved.db');
    // By another process: one that has the database open must not close a descriptor of it.
    for (const part of ['', '-wal'])
      assert.equal(spawnSync('cp', [this.path + part, moved + part]).status, 0);
    const db = openSqlite(moved);
    db.pragma('wal_checkpoint(TRUNCATE)');
    assert.deepEqual(db.pragma('quick_check'), [{ quick_check: 'ok' }]);
    db.close();
    assert.ok(readFileSync(copy).equals(readFileSync(moved)), `the copy differs from the home ${when}`);
    rmSync(dirname(copy), { recursive: true });
  }

  async close(): Promise<void> {
    for (const keeper of this.#keepers) if (!keeper.isOver) await keeper.kill();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
