/** Numbers of the change sequence in a kept home: told when what they stand for is in the engine. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { configOf } from '../support/settings.js';
import { describe as describeSocket } from '../../src/daemon/connection.js';
import { beginCursor } from '../../src/cu/cursor-now.js';
import { readCursor } from '../../src/cu/cursor.js';
import { deliver } from '../../src/cu/deliver.js';
import { formatNamed } from '../../src/cu/formats/index.js';
import { Lcc } from '../../src/cu/library/lcc.js';
import { cuOptions } from '../../src/cu/server/options.js';
import { CuServer } from '../../src/cu/server/server.js';
import type { Delivery } from '../../src/cu/types.js';
import { systemClock } from '../../src/lib/clock.js';
import { LccError } from '../../src/lib/errors.js';
import { silentLog } from '../../src/lib/log.js';
import { TestCache } from '../support/cache.js';
import { ask, Cu } from '../support/cu.js';
import { HeldGate } from '../support/held-gate.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';

const cache = new TestCache();
cache.put({ curl: 'http://h/a' });
after(() => cache.close());
let gate: HeldGate;
let file: string;
let files = 0;
beforeEach(() => {
  gate = new HeldGate();
  file = join(cache.home, `cursor-${++files}`);
});
const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});
const shipped = () => gate.shipped('lcc');

function following(text: string[], more: Partial<Delivery> = {}): Promise<number> {
  const delivery: Delivery = {
    dbPath: cache.dbPath,
    machineId: '',
    query: {
      selection: { sides: ['held', 'gone'] },
      format: formatNamed('jsonl'),
      fields: undefined,
      content: false,
      text: undefined,
      markdown: undefined,
      storeDir: cache.store,
      maxTextBytes: 1000,
      nowMs: 0,
    },
    cursor: file,
    shipped,
    follows: false,
    count: false,
    ...more,
  };
  const talk = {
    reject: () => undefined,
    note: () => undefined,
    explain: () => undefined,
    started: () => undefined,
    ended: () => undefined,
    namesAll: false,
    advance: undefined,
  };
  const write = (part: string | Uint8Array) => void text.push(String(part));
  const stdout = { write, flush: () => undefined };
  return deliver(delivery, stdout, talk, { clock: systemClock, stop: new AbortController().signal });
}

describe('the cursor of a delivery', () => {
  it('moves, and its changes are told, when they are in the engine, and not before', async () => {
    gate.hold();
    const text: string[] = [];
    const delivered = following(text);
    await gate.holds(() => text.length > 0);
    assert.deepEqual(text, []);
    assert.ok(!existsSync(`${file}.next`));
    gate.release();
    assert.equal(await delivered, 0);
    assert.match(text.join(''), /http:\/\/h\/a/);
    assert.equal(readCursor(`${file}.next`)?.seq, 1);
  });

  it('stays where the engine does not take them in time', async () => {
    gate.hold();
    const delivered = following([]);
    await gate.holds();
    gate.refuse(new LccError('try.later', 'the engine has not taken it'));
    await assert.rejects(delivered, { code: 'try.later' });
    assert.ok(!existsSync(`${file}.next`));
  });

  it('that begins with the next change is made when the last one is in the engine', async () => {
    gate.hold();
    const begun = beginCursor({ dbPath: cache.dbPath, from: undefined, shipped }, { file, of: undefined });
    await gate.holds();
    assert.ok(!existsSync(file));
    gate.release();
    assert.equal((await begun).seq, 1);
  });

  it('is asked for by no delivery without one', async () => {
    gate.hold();
    assert.equal(await following([], { cursor: undefined, shipped: undefined }), 0);
    assert.deepEqual(gate.asked, []);
  });
});

describe('lccd-cu', () => {
  async function server(clock: ManualClock | typeof systemClock = systemClock): Promise<number> {
    const config = configOf({ 'cu.anonymous': 'true' });
    const options = { ...cuOptions(config, Infinity), dbPath: cache.dbPath, storeDir: cache.store };
    const fail = (error: unknown) => assert.fail(String(error));
    const cu = new CuServer({ options, kept: gate, clock, log: silentLog, fail });
    const listener = createServer(socket => cu.accept(describeSocket(socket)));
    await new Promise<void>(resolve => void listener.listen(0, '127.0.0.1', resolve));
    ends.push(async () => {
      listener.close();
      await cu.stop();
    });
    return (listener.address() as AddressInfo).port;
  }
  const QUERY = '<lococa:query last="yes"/>';

  it('answers when what it has looked at is in the engine, and not before', async () => {
    const port = await server();
    gate.hold();
    let answer: string | undefined;
    void ask(port, QUERY).then(text => (answer = text));
    await gate.holds(() => answer !== undefined);
    assert.equal(answer, undefined);
    gate.release();
    await until('it answers', () => answer !== undefined);
    assert.match(answer ?? '', /cursor="[0-9a-f-]+:1"/);
  });

  it('refuses with 102 what the engine does not take within 10 s', async () => {
    const clock = new ManualClock();
    const port = await server(clock);
    gate.hold();
    const cu = new Cu(port).send(QUERY);
    await gate.holds();
    clock.advance(10_000);
    assert.match(await cu.reply, /code="102"/);
  });
});

describe('the library', () => {
  const open = () => new Lcc({ db: cache.dbPath, store: cache.store, machineId: '', shipped });

  it('gives changes when they are in the engine, and not before', async () => {
    gate.hold();
    const lcc = open();
    let told: number | undefined;
    const first = lcc.changes().next();
    void first.then(({ value }) => (told = value?.seq));
    await gate.holds(() => told !== undefined);
    assert.equal(told, undefined);
    gate.release();
    assert.equal((await first).value?.seq, 1);
    lcc.close();
  });

  it('says how far a kept LCC has come when that is in the engine, and at once only of others', async () => {
    gate.hold();
    const lcc = open();
    assert.throws(() => lcc.now(), { code: 'usage', message: /keptNow/ });
    const now = lcc.keptNow();
    await gate.holds();
    gate.release();
    assert.equal((await now).seq, 1);
    lcc.close();
    const other = new Lcc({ db: cache.dbPath, store: cache.store, machineId: '' });
    assert.deepEqual(await other.keptNow(), other.now());
    other.close();
  });
});
