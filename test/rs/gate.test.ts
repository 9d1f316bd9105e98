/** lccd-rs in a kept home: what it has committed is in the engine before it answers, asks or writes to anybody. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { after, afterEach, beforeEach, describe, it } from 'node:test';
import { Hono } from 'hono';
import type { NodeBindings } from '../../src/rs/api.js';
import { RsGate } from '../../src/rs/gate.js';
import { listenerOf } from '../../src/rs/listener.js';
import { MailSender } from '../../src/rs/mail/sender.js';
import { OutboxSender } from '../../src/rs/outbox-sender.js';
import { silentLog } from '../../src/lib/log.js';
import { serveWeb } from '../../src/web/server.js';
import { ends, settle } from '../support/duplex.js';
import { HeldGate } from '../support/held-gate.js';
import { ManualClock } from '../support/manual-clock.js';
import { until } from '../support/until.js';
import { ground } from '../web/support.js';
import { RsScene } from './support.js';

const { services, limits } = ground({ after });
let held: HeldGate;
let gate: RsGate;
let clock: ManualClock;
let scene: RsScene;
beforeEach(async () => {
  held = new HeldGate();
  clock = new ManualClock();
  gate = new RsGate(held, clock);
  scene = await RsScene.start();
});
afterEach(() => scene.close());

describe('a request', () => {
  async function serve() {
    const app = new Hono<{ Bindings: NodeBindings }>();
    app.post('/', c => {
      gate.committed();
      return c.text('done');
    });
    app.get('/', c => c.text('read'));
    const listener = listenerOf(app, services.log, undefined, gate);
    const web = await serveWeb(services, [{ kind: 'tcp', host: '127.0.0.1', port: 0 }], listener, limits);
    const [endpoint] = web.endpoints;
    assert.ok(endpoint?.kind === 'tcp');
    return { web, url: `http://127.0.0.1:${endpoint.port}/` };
  }

  it('that has committed something is answered when that is in the engine; another is not kept waiting', async () => {
    const { web, url } = await serve();
    held.hold();
    assert.equal(await (await fetch(url)).text(), 'read');
    const statuses: number[] = [];
    void fetch(url, { method: 'POST' }).then(({ status }) => void statuses.push(status));
    await held.holds(() => statuses.length > 0);
    assert.deepEqual(statuses, []);
    held.release();
    await until('it is answered', () => statuses.length > 0);
    assert.deepEqual(statuses, [200]);
    held.hold();
    assert.equal(await (await fetch(url)).text(), 'read', 'nothing was committed since');
    await web.close();
  });

  it('is answered with 503 where the engine does not take it in time', async () => {
    const { web, url } = await serve();
    held.hold();
    const asked = fetch(url, { method: 'POST' });
    await held.holds();
    clock.advance(10_000);
    assert.equal((await asked).status, 503);
    await web.close();
  });
});

it('an operation goes to the Queue Manager when it is in the engine, and not before', async () => {
  const { db } = scene;
  db.write(() => db.outbox.add(1, { op: 'set', pid: 100_000, terms: {} } as never, 0));
  held.hold();
  const sender = new OutboxSender({
    db,
    clock,
    log: silentLog,
    timeoutMs: 1000,
    askTimeoutMs: 1000,
    retryMs: 1000,
    leaves: () => gate.leaves(),
    answered: () => undefined,
    fail: error => assert.fail(String(error)),
  });
  const { ours, theirs, received } = ends();
  sender.serve({ socket: ours as Socket, peer: 'qm', address: '' });
  await held.holds(() => received() !== '');
  await settle();
  assert.equal(received(), '');
  held.release();
  await until('it is asked for', () => received().includes('"op":"set"'));
  sender.stop();
  theirs.destroy();
});

it('a mail goes to its server when it is in the engine, and not before', async () => {
  const { db } = scene;
  const nowMs = Date.UTC(2026, 0, 1);
  db.write(() =>
    db.mails.add(
      { kind: 'pair', registration: null, message: 'm1', address: 'ann@example.org', body: 'b' } as never,
      nowMs,
    ),
  );
  const taken: string[] = [];
  const sender = new MailSender({
    db,
    clock: { nowMs: () => nowMs },
    log: silentLog,
    leaves: () => gate.leaves(),
    handOver: ({ address }) => {
      taken.push(address);
      return Promise.resolve({ isTaken: true, isLater: false, isServer: false, why: '' });
    },
  });
  held.hold();
  const passed = sender.pass(() => false);
  await held.holds(() => taken.length > 0);
  assert.deepEqual(taken, []);
  held.release();
  await passed;
  assert.deepEqual(taken, ['ann@example.org']);
});
