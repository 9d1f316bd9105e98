/** A new edge, as docs/design/conversations.md makes it: lines in, an answer to each. */
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { Conversation } from '../../src/lib/conversation.js';
import { LccError } from '../../src/lib/errors.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { Lines } from '../../src/lib/lines.js';
import type { Clock } from '../../src/lib/clock.js';
import type { Connection } from '../../src/daemon/types.js';
import { ManualClock } from '../support/manual-clock.js';
import { ends, settle } from '../support/duplex.js';

const MAX_LINE = 100;
const IDLE_MS = 1000;
const STALL_MS = 500;
const LINGER_MS = 2000;
const share = new FairShare();

async function serveAsker(
  { socket, peer }: Connection,
  ask: (line: string) => Promise<string>,
  clock: Clock,
): Promise<void> {
  const talk = new Conversation(socket, peer, clock);
  const lines = new Lines(MAX_LINE, () => new LccError('limit', 'too long'));
  const silent = () => new LccError('peer.unavailable', 'silent');
  try {
    talk.limit(IDLE_MS, silent);
    for await (const slice of talk.slices(share.join()))
      for (const line of lines.read(slice)) {
        talk.unlimited();
        await talk.write(
          `${await ask(line)}\n`,
          STALL_MS,
          () => new LccError('peer.unavailable', 'reads nothing'),
        );
        talk.limit(IDLE_MS, silent);
      }
  } catch (error) {
    if (!(error instanceof LccError)) throw error;
    if (!talk.isOver) talk.say(`error ${error.message}\n`);
  }
  talk.calm();
  talk.limit(LINGER_MS, silent);
  await talk.finish({ maxBytes: 128 * 1024 });
}

function asker(ask = (line: string) => Promise.resolve(line.toUpperCase()), reading = true) {
  const pair = ends(reading);
  const clock = new ManualClock();
  const over = serveAsker({ socket: pair.ours as Socket, peer: 'asker', address: '' }, ask, clock);
  return { ...pair, clock, over };
}

describe('an edge of lines', () => {
  it('answers each in turn, also when the last one comes with the end', async () => {
    const { theirs, received, over } = asker();
    theirs.write('one\ntw');
    await settle();
    theirs.end('o\nthree\n');
    await over;
    assert.equal(received(), 'ONE\nTWO\nTHREE\n');
  });

  it('asks for no more while an answer is due, however long that takes', async () => {
    const answers: ((text: string) => void)[] = [];
    const asked: string[] = [];
    const { theirs, clock, received } = asker(line => {
      asked.push(line);
      return new Promise(resolve => void answers.push(resolve));
    });
    theirs.write('one\ntwo\n');
    await settle();
    clock.advance(60_000);
    await settle();
    assert.deepEqual([asked, received()], [['one'], '']);
    answers[0]?.('1');
    await settle();
    assert.deepEqual([asked, received()], [['one', 'two'], '1\n']);
    theirs.destroy();
  });

  it('says why it ends: silence, a line that is too long', async () => {
    const idle = asker();
    idle.clock.advance(IDLE_MS);
    await settle();
    assert.equal(idle.received(), 'error silent\n');
    const long = asker();
    long.theirs.write('x'.repeat(1000));
    await settle();
    assert.equal(long.received(), 'error too long\n');
    for (const { clock, over } of [idle, long]) {
      clock.advance(LINGER_MS);
      await over;
    }
  });

  it('gives up one that reads nothing', async () => {
    const { ours, theirs, clock, over } = asker(() => Promise.resolve('x'.repeat(1_000_000)), false);
    theirs.write('more\n');
    await settle();
    clock.advance(STALL_MS);
    await settle();
    assert.ok(!ours.destroyed);
    clock.advance(LINGER_MS);
    await over;
    assert.ok(ours.destroyed);
  });
});
