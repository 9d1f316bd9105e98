/** A Bot Manager whose source and robots are played by a test, with a store in a folder that goes away. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { BotManager, type BotManagerOptions } from '../../src/bm/manager.js';
import { Relay, type RelayOptions } from '../../src/bm/relay.js';
import { Store, type StoreOptions } from '../../src/bm/store.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { channelOptions, ends, settle } from '../support/duplex.js';
import { atEnd } from '../support/at-end.js';

const dirs: string[] = [];
atEnd(() => {
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
      .map(line => line.replace(/ store="[\da-f-]{36}[/\da-f]*"/, ''));
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
  constructor(more: Partial<BotManagerOptions> = {}, store: Partial<StoreOptions> = {}) {
    dirs.push(this.dir);
    this.store = new Store({
      dir: this.dir,
      machineId: 'm1',
      graceMs: 1000,
      blockNames: 8,
      minFree: { percent: 5, bytes: 2 ** 40, whose: 'bm' },
      attemptMs: 60_000,
      clock: this.clock,
      log: silentLog,
      fail: error => assert.fail(String(error)),
      space: () => ({ freeBytes: this.freePercent * 1e6, totalBytes: 1e8 }),
      ...store,
    });
    this.manager = new BotManager({
      store: this.store,
      clock: this.clock,
      log: silentLog,
      channel: { ...channelOptions(), helloTimeoutMs: 60_000, pingIntervalMs: 600_000 },
      maxWaiting: 100,
      laneWindow: 1,
      maxLosses: 3,
      attemptTimeoutMs: 60_000,
      robotWaitMs: 5000,
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

/** What a source says to a peer that has said that it is there. */
export const PING = '<ping intervalms="600000"/>';
export const fetch = (id: number, lane = String(id)) =>
  `<fetch id="${id}" lane="${lane}" url="http://h/${id}"/>`;
export const ok = (number: number) =>
  `<fetched id="${number}" status="ok" md5="${'0'.repeat(32)}" len="1" time="0.001"/>`;
/** Without the id of the store. */
export const HELLO = (slots: number) => `<lococa:bm machineid="m1" slots="${slots}"/>`;
export const fileOf = (line: string | undefined) => /file="([^"]+)"/.exec(line ?? '')?.[1] ?? '';
export const numberOf = (line: string | undefined) => Number(/id="(\d+)"/.exec(line ?? '')?.[1]);

/** A relay whose source and Bot Managers are played by a test. */
export class RelayWorld {
  readonly clock = new ManualClock();
  readonly refusals: string[] = [];
  readonly relay: Relay;
  constructor(more: Partial<RelayOptions> = {}) {
    this.relay = new Relay({
      clock: this.clock,
      log: silentLog,
      channel: { ...channelOptions(), helloTimeoutMs: 60_000, pingIntervalMs: 600_000 },
      maxWaiting: 100,
      laneWindow: 4,
      overbookPercent: 0,
      maxLosses: 3,
      refused: reason => void this.refusals.push(reason.message),
      ...more,
    });
  }
  source(): Far {
    return new Far(stream => this.relay.source(stream, 'source'));
  }
  /** A Bot Manager of one machine, or with several ids a relay. */
  async branch(slots: number, machines: string, stores = machines.replaceAll('m', 's')): Promise<Far> {
    const far = new Far(stream => this.relay.branch(stream, `bot manager of ${machines}`));
    await far.say(branchHello(slots, machines, stores));
    assert.deepEqual(await far.hear(), [PING]);
    return far;
  }
  async pass(ms: number): Promise<void> {
    this.clock.advance(ms);
    await settle();
  }
  async stop(): Promise<void> {
    const stopped = this.relay.stop();
    this.clock.advance(10_000);
    await stopped;
  }
}

/** What a Bot Manager says first; with several machines it is a relay. */
export function branchHello(slots: number, machines: string, stores: string): string {
  const relay = machines.includes(' ') ? ' relay="yes"' : '';
  return `<lococa:bm machineid="${machines}" slots="${slots}" store="${stores}"${relay}/>`;
}

/** What a relay says of those below it. */
export const offered = (slots: number, machines: string) =>
  `<lococa:bm machineid="${machines}" slots="${slots}"${machines === '' ? '' : ` store="${machines.replaceAll('m', 's')}"`} relay="yes"/>`;

/** A machine's result of a request that a relay has sent it. */
export const stored = (number: number, machine: string, file = `00/00/0000000${number}.0`) =>
  `<fetched id="${number}" status="ok" http="200" md5="${'0'.repeat(32)}" len="1" wirebytes="1" time="0.001" machineid="${machine}" fileid="${file}"/>`;
