/** What bounds a connection at the spider door: sets without an answer, and silence. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { silentLog } from '../../src/lib/log.js';
import { unsOptions } from '../../src/uns/options.js';
import { MAX_UNANSWERED, SpiderDoor, type SpiderDoorParts } from '../../src/uns/spider-door.js';
import { ManualClock } from '../support/manual-clock.js';
import { ends, settle } from '../support/duplex.js';

const SET =
  '<lococa:set set="partial" pid="7" origin="links"><url curl="http://h/a" mimetype="*/*"/></lococa:set>';

/** A door whose disk takes as long as the test wants. */
function doorOf(t: TestContext) {
  const clock = new ManualClock();
  const begun: (() => void)[] = [];
  let isOver = false;
  const writer = { write: () => undefined, waitingBytes: 0, abort: () => Promise.resolve() };
  const provider = { pid: 7, enabled: true, spider: true, roots: ['http://h/'], filesmax: 9, spacemax: 9 };
  const parts = {
    options: unsOptions(loadConfig({ env: { LCC_HOME: '/nowhere' } }), Infinity),
    clock,
    log: silentLog,
    intake: {
      demandRoom: () => undefined,
      begin: () => writer,
      commit: () => (isOver ? Promise.resolve() : new Promise<void>(resolve => void begun.push(resolve))),
    },
    pidb: { provider: () => provider, latestSet: () => 0 },
    rations: {},
    share: new FairShare(),
    counted: () => undefined,
  } as unknown as SpiderDoorParts;
  const door = new SpiderDoor(parts);
  const { ours, theirs, received } = ends();
  const over = door.accept({ socket: ours as Socket, peer: 'unix', address: '' });
  t.after(async () => {
    isOver = true;
    for (const commit of begun) commit();
    theirs.end();
    // What the client is given to read its last answer in.
    for (let round = 0; round < 3; round++) {
      await settle(200);
      clock.advance(10_000);
    }
    await over;
  });
  return { door, clock, begun, theirs, received };
}

const answered = (text: string) => text.match(/<set_accepted/g)?.length ?? 0;

test(`no more is read while ${MAX_UNANSWERED} sets have no answer, and answers come in the order of the sets`, async t => {
  const { begun, theirs, received } = doorOf(t);
  theirs.write(SET.repeat(MAX_UNANSWERED + 6));
  await settle(200);
  assert.equal(begun.length, MAX_UNANSWERED);
  // The second is on disk before the first.
  begun[1]?.();
  await settle(50);
  assert.deepEqual([answered(received()), begun.length], [0, MAX_UNANSWERED]);
  begun[0]?.();
  await settle(200);
  assert.deepEqual([answered(received()), begun.length], [2, MAX_UNANSWERED + 2]);
});

test('a client that falls silent in a set is ended; between two sets it may be silent', async t => {
  const { begun, clock, theirs, received } = doorOf(t);
  theirs.write(SET);
  await settle(50);
  begun[0]?.();
  await settle(50);
  clock.advance(24 * 3_600_000);
  await settle(50);
  assert.equal(answered(received()), 1);
  theirs.write(SET.slice(0, -10));
  await settle(50);
  clock.advance(60_000);
  await settle(50);
  assert.match(received(), /<set_rejected code="106">[^<]*\(uns.idle_timeout_ms\)/);
});

test('when the UNS stops, what is becoming durable is answered first', async t => {
  const { door, begun, theirs, received } = doorOf(t);
  theirs.write(SET + SET.slice(0, -10));
  await settle(50);
  const stopped = door.stop();
  await settle(50);
  assert.equal(received(), '');
  begun[0]?.();
  theirs.end();
  await stopped;
  assert.match(received(), /<set_accepted received="1"\/>[^]*<set_rejected code="102">/);
});
