/** A Bot Manager whose source and robots are played by a test, with a store in a folder that goes away. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { after } from 'node:test';
import { BotManager, type BotManagerOptions } from '../../src/bm/manager.js';
import { Store } from '../../src/bm/store.js';
import { ManualClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { channelOptions, ends, settle } from '../support/duplex.js';

const dirs: string[] = [];
after(() => {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
});

/** The far end of a conversation, played by a test: what it has been told since it was last asked. */
export class Far {
  readonly stream: Duplex;
  readonly #received: () => string;
  #read = 0;
  constructor(ours: (stream: Duplex) => void) {
    const both = ends();
    ours(both.ours);
    this.stream = both.theirs;
    this.#received = both.received;
  }
  async say(text: string): Promise<void> {
    this.stream.write(text);
    await settle();
  }
  async hear(): Promise<string[]> {
    await settle();
    const all = this.#received();
    const news = all.slice(this.#read);
    this.#read = all.length;
    return news
      .split('\n')
      .filter(line => line !== '')
      .map(line => line.replace(/ store="[\da-f-]{36}"/, ''));
  }
  async leave(): Promise<void> {
    this.stream.end();
    await settle();
  }
}

export class World {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-bm-'));
  readonly clock = new ManualClock();
  freePercent = 50;
  readonly store: Store;
  readonly manager: BotManager;
  constructor(more: Partial<BotManagerOptions> = {}) {
    dirs.push(this.dir);
    this.store = new Store({
      dir: this.dir,
      machineId: 'm1',
      graceMs: 1000,
      blockNames: 8,
      minFreePercent: 5,
      clock: this.clock,
      log: silentLog,
      fail: error => assert.fail(String(error)),
      freePercent: () => this.freePercent,
    });
    this.manager = new BotManager({
      store: this.store,
      clock: this.clock,
      log: silentLog,
      channel: { ...channelOptions(), helloTimeoutMs: 60_000 },
      maxWaiting: 100,
      maxRobots: 10,
      laneWindow: 1,
      maxLosses: 3,
      attemptTimeoutMs: 60_000,
      refused: reason => assert.fail(reason.message),
      ...more,
    });
  }
  source(): Far {
    return new Far(stream => this.manager.source(stream, 'source'));
  }
  async robot(slots: number): Promise<Far> {
    const far = new Far(stream => this.manager.robot(stream, 'robot'));
    await far.say(`<lococa:bot slots="${slots}"/>`);
    return far;
  }
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settle();
  }
  async stop(): Promise<void> {
    const stopped = this.manager.stop();
    this.clock.advance(10_000);
    await stopped;
  }
  path(fileId: string): string {
    return join(this.dir, fileId);
  }
}

export const fetch = (id: number, lane = String(id)) =>
  `<fetch id="${id}" lane="${lane}" url="http://h/${id}"/>`;
export const ok = (number: number) =>
  `<fetched id="${number}" status="ok" md5="${'0'.repeat(32)}" len="1" time="0.001"/>`;
/** Without the id of the store. */
export const HELLO = (slots: number) => `<lococa:bm machineid="m1" slots="${slots}"/>`;
export const fileOf = (line: string | undefined) => /file="([^"]+)"/.exec(line ?? '')?.[1] ?? '';
export const numberOf = (line: string | undefined) => Number(/id="(\d+)"/.exec(line ?? '')?.[1]);
