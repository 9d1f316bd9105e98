/** More than the Queue Manager can take: the real UNS spools, says so when it can no more, and drains in order. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { addProvider } from '../../src/db/providers/pidb.js';
import { generatePassword, hashPassword } from '../../src/lib/password.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { Bm, Qm } from '../support/queue-manager.js';
import { ok } from '../qm/support.js';
import { startDaemon, statusOf, type Daemon } from '../support/daemon.js';
import { longIt } from '../support/long.js';
import { Cp, init, set, SITE } from '../support/uns.js';
import { until } from '../support/until.js';

const PID = 9;

let qm: Qm;
let uns: Daemon;
let password: string;
const bms: Bm[] = [];

/** @param qmPath where the UNS finds the Queue Manager */
async function start(toml: string, qmPath = () => qm.unsPath): Promise<void> {
  qm = new Qm(toml);
  password = generatePassword();
  const db = openDatabase(qm.dbPath);
  addProvider(db, PID, hashPassword(password), {}, [SITE]);
  db.close();
  await qm.start();
  uns = startDaemon('lccd-uns', qm.home, ['--listen=127.0.0.1:0', `--qm=unix:${qmPath()}`], {
    LCC_CONFIG: '',
  });
  await uns.ready;
}

const status = () => statusOf(qm.home, 'lccd-uns');

/** Sends a set and says what came of it: accepted, or the code of the refusal. */
async function send(...curls: string[]): Promise<'accepted' | number> {
  const reply = await new Cp(uns.port).send(init(PID, password) + set('partial', ...curls)).reply;
  if (reply.includes('<set_accepted')) return 'accepted';
  return Number(/code="(\d+)"/.exec(reply)?.[1]);
}

/** Between a UNS and the Queue Manager: a number of bytes pass, and the others when it is opened. */
class Gate {
  #left: number;
  readonly #waiting = new Set<Socket>();
  readonly #server = createServer(uns => this.#join(uns, connect(qm.unsPath)));

  constructor(bytes: number) {
    this.#left = bytes;
  }

  get path(): string {
    return join(qm.home, 'gate.sock');
  }

  async listen(): Promise<void> {
    this.#server.listen(this.path);
    await once(this.#server, 'listening');
  }

  open(): void {
    this.#left = Infinity;
    for (const uns of this.#waiting) uns.resume();
    this.#waiting.clear();
  }

  close(): void {
    this.#server.close();
  }

  #join(uns: Socket, manager: Socket): void {
    for (const [one, other] of [
      [uns, manager],
      [manager, uns],
    ] as const)
      one.on('error', () => undefined).on('close', () => void other.destroy());
    manager.on('data', (chunk: Buffer) => void uns.write(chunk));
    manager.on('drain', () => void (this.#left > 0 && uns.resume()));
    uns.on('data', (chunk: Buffer) => {
      this.#left -= chunk.length;
      if (!manager.write(chunk) || this.#left <= 0) uns.pause();
      if (this.#left <= 0) this.#waiting.add(uns);
    });
  }
}

/** Entries in the order in which the Queue Manager took them. */
function absorbed(): string[] {
  return qm.rows('SELECT entry FROM absorbed ORDER BY psetid').map(row => String(row['entry']));
}

const stored = (request: FetchRequest): FetchResult => ({
  ...ok(request.url),
  id: request.id,
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});

beforeEach(() => {
  bms.length = 0;
});
afterEach(async () => {
  for (const bm of bms) bm.close();
  uns.child.kill('SIGCONT');
  await uns.stop();
  await qm.close();
});

describe('a UNS whose Queue Manager does not answer', () => {
  for (const how of ['goes on', 'is killed'] as const) {
    it(`spools up to its limit, sends CPs away, loses nothing, and drains in order when that ${how}`, async () => {
      await start('[uns]\nmax_spool_bytes = "1MB"\n');
      qm.daemon?.child.kill('SIGSTOP');
      const pad = 'x'.repeat(200);
      const sent: string[] = [];
      for (let n = 0; ; n++) {
        const curls = Array.from({ length: 500 }, (_, i) => `${n}-${i}-${pad}`);
        const answer = await send(...curls);
        if (answer === 102) break;
        assert.equal(answer, 'accepted');
        sent.push(...curls);
      }
      assert.ok(sent.length > 500, 'more than one set had room');
      assert.equal(await send('late'), 102);
      if (how === 'goes on') {
        qm.daemon?.child.kill('SIGCONT');
      } else {
        await qm.kill();
        await qm.start();
      }
      await until('the spool is empty', async () => (await status())['sets_spooled'] === 0);
      const rows = qm.rows('SELECT curl FROM qdb ORDER BY pos').map(row => String(row['curl']));
      assert.deepEqual(
        rows,
        sent.map(curl => SITE + curl),
      );
      assert.deepEqual(absorbed(), [...absorbed()].sort());
      assert.equal(await send('again'), 'accepted');
    });
  }
});

describe('a UNS whose Queue Manager hangs in the middle of a set', () => {
  longIt(
    'gives the connection up and, when that goes on, hands the set over again: nothing is lost or there twice',
    async () => {
      const pad = 'x'.repeat(200);
      const curls = Array.from({ length: 50_000 }, (_, i) => `${i}-${pad}`);
      const gate = new Gate((curls.length * pad.length) / 2);
      await start('[uns]\nqm_timeout_ms = 3000\n[qm]\nslice_urls = 1000\n', () => gate.path);
      await gate.listen();
      const queued = () => qm.rows('SELECT curl FROM qdb ORDER BY pos').map(row => String(row['curl']));
      assert.equal(await send(...curls), 'accepted');
      await until('urls are queued', () => queued().length > 0);
      qm.daemon?.child.kill('SIGSTOP');
      gate.open();
      await uns.logged('takes no more (uns.qm_timeout_ms)');
      assert.ok(queued().length < curls.length, 'in the middle');
      assert.equal((await status())['sets_spooled'], 1);
      qm.daemon?.child.kill('SIGCONT');
      await until('the spool is empty', async () => (await status())['sets_spooled'] === 0);
      assert.deepEqual(
        queued(),
        curls.map(curl => SITE + curl),
      );
      assert.equal(absorbed().length, 1);
      assert.equal(await send('again'), 'accepted');
      gate.close();
    },
  );
});

describe('a UNS whose Queue Manager has shut it out', () => {
  it('keeps what is accepted meanwhile, a set larger than all the room included, and hands it over when there is room', async () => {
    await start('[qm]\nmax_queue_urls = 20\nslice_urls = 5\n');
    const sets = [25, 3, 60, 2].map((count, n) => Array.from({ length: count }, (_, i) => `s${n}-${i}`));
    for (const curls of sets) assert.equal(await send(...curls), 'accepted');
    await until('it is shut out', async () => !(await status())['qm_connected'] && absorbed().length === 1);
    const bm = new Bm(qm, { slots: 64 });
    bms.push(bm);
    bm.onFetch = stored;
    await until('the spool is empty', async () => (await status())['sets_spooled'] === 0);
    await bm.until(() => bm.fetches.length >= sets.flat().length);
    const fetched = bm.fetches.map(({ url }) => url);
    assert.deepEqual(
      fetched,
      sets.flat().map(curl => SITE + curl),
    );
    assert.equal(absorbed().length, sets.length);
  });
});
