/** The engine's part of a move: a provider is packed as its home has shipped it, by another home that knows the engine only. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { movesOf } from '../../src/commands/qm-moves.js';
import type { Services } from '../../src/daemon/types.js';
import { EngineLedger } from '../../src/db/engine/engine-ledger.js';
import { Engine as EngineNodes } from '../../src/db/engine/engine.js';
import { HomeRows, makeTables } from '../../src/db/engine/home-rows.js';
import type { Move } from '../../src/db/engine/moves.js';
import { engineAccount } from '../../src/db/engine/nodes.js';
import { Parcel } from '../../src/db/moves/parcel.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { Shipper } from '../../src/keep/shipper.js';
import { standingOf } from '../../src/keep/standing.js';
import { systemClock as clock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { Engine, noEngine } from '../support/engine.js';
import { until } from '../support/until.js';

const never = new AbortController().signal;
const started = noEngine === false ? await Engine.start() : undefined;

describe('what a home that a provider moves to has of the other home', { skip: noEngine }, () => {
  const engine = started as Engine;
  const dir = mkdtempSync(join(tmpdir(), 'lcc-qm-moves-'));
  const opened: EngineNodes[] = [];
  const storeOf = (user: 'lcc' | 'lcc_admin') => ({
    url: engine.url().replace('lcc@', `${user}@`),
    passwordFile: engine.passwordFile(user),
    tlsCa: '',
    plain: false,
  });
  const nodes = (user: 'lcc' | 'lcc_admin' = 'lcc'): EngineNodes => {
    const made = new EngineNodes(engineAccount(storeOf(user)), { clock, log: silentLog });
    opened.push(made);
    return made;
  };
  before(() => makeTables(nodes('lcc_admin'), never));
  after(() => {
    for (const each of opened) each.close();
    rmSync(dir, { recursive: true, force: true });
  });

  it('is the provider as of the shipment by which it was closed, or later, and no more of that home', async () => {
    const path = join(dir, 'lcc.db');
    const db = openDatabase(path);
    await new HomeRows(nodes(), 0).record('h1', false, { epoch: 0, n: 0 }, never);
    const ledger = new EngineLedger(nodes(), 0);
    const state = await ledger.state('lcc', never);
    assert.ok(state);
    const standing = standingOf(path, state, 'h1');
    assert.notEqual(standing, 'other');
    const options = {
      name: 'lcc',
      path,
      ledger,
      epoch: state.epoch,
      machine: 'h1',
      clock,
      log: silentLog,
    } as const;
    const shipper = new Shipper(options, state, standing === 'other' ? 'none' : standing);
    const stop = new AbortController();
    const running = shipper.run(stop.signal);
    db.prepare("INSERT INTO pidb(pid, password) VALUES (7, 'x'), (8, 'y')").run();
    await shipper.shipped();
    await until('a base', () => shipper.isComplete);
    db.prepare("UPDATE pidb SET password = 'z' WHERE pid = 7").run();
    await shipper.shipped();

    const settings = { store: storeOf('lcc') };
    const elsewhere = movesOf({ settings, clock } as unknown as Services);
    assert.ok(elsewhere);
    const n = await elsewhere.shipped(0, never);
    assert.ok(n > 0);
    const move: Move = { pid: 7, src: 0, dst: 1, stage: 'closed', n };
    const file = join(dir, '7.parcel');
    await elsewhere.pack(move, file, never);
    const parcel = new Parcel(file);
    const at = parcel.columns('pidb').indexOf('password');
    assert.deepEqual(
      parcel.rows('pidb', 0, 10).map(row => row[at]),
      ['z'],
    );
    parcel.close();
    assert.deepEqual(
      readdirSync(dir).filter(name => name.startsWith('7.parcel-')),
      [],
      'the copy is gone',
    );
    await assert.rejects(
      elsewhere.pack({ ...move, pid: 9 }, file, never),
      /provider 9 is not packed: no provider 9/,
    );
    stop.abort();
    await running.catch(() => undefined);
    db.close();
    shipper.close();
  });

  it('is nothing without an engine', () => {
    assert.equal(movesOf({ settings: { store: { url: '' } } } as unknown as Services), undefined);
  });
});
