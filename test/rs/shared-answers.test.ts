/** Answers of the Queue Manager that looks share: for how long, how many, and what ends them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { html } from 'hono/html';
import { PLACE, textOf } from '../../src/rs/pages/layout.js';
import { SharedBodies } from '../../src/rs/pages/shared-bodies.js';
import { SharedAnswers, type QmTold } from '../../src/rs/shared-answers.js';
import { ManualClock } from '../support/manual-clock.js';

const SHOW = { op: 'show', pid: 7 } as const;
const OTHER = { op: 'show', pid: 8 } as const;

class Scene {
  readonly clock = new ManualClock();
  readonly asked: { settle: (told: QmTold | undefined) => void; fail: (error: Error) => void }[] = [];
  readonly shared: SharedAnswers;
  mark: string | undefined;

  constructor(keepMs = 1000, maxLength = 10_000) {
    const { clock } = this;
    const ask = () =>
      new Promise<QmTold | undefined>((settle, fail) => void this.asked.push({ settle, fail }));
    this.shared = new SharedAnswers({ ask, clock, mark: () => this.mark, keepMs, maxLength });
  }

  /** @returns what is given to one who asks, where the Queue Manager answers at once */
  async look(question: Parameters<SharedAnswers['ask']>[0] = SHOW, text = ''): Promise<QmTold | undefined> {
    const before = this.asked.length;
    const answer = this.shared.ask(question);
    if (this.asked.length > before) this.asked.at(-1)?.settle({ nth: this.asked.length, text });
    return answer;
  }
}

test('those who ask the same share one answer until it is as old as it may be, counted from its question', async () => {
  const scene = new Scene();
  const { shared, clock, asked } = scene;
  const [first, second] = [shared.ask(SHOW), shared.ask(SHOW)];
  assert.equal(asked.length, 1);
  clock.advance(999);
  asked[0]?.settle({ nth: 1 });
  assert.deepEqual(await Promise.all([first, second, shared.ask(SHOW)]), [
    { nth: 1 },
    { nth: 1 },
    { nth: 1 },
  ]);
  clock.advance(1);
  assert.equal((await scene.look())?.['nth'], 2);
  assert.equal((await scene.look(OTHER))?.['nth'], 3);
});

test('an answer that hangs holds back nobody who asks when it would be too old', async () => {
  const scene = new Scene();
  void scene.shared.ask(SHOW);
  scene.clock.advance(1000);
  assert.equal((await scene.look())?.['nth'], 2);
  scene.asked[0]?.settle({ nth: 1 });
  assert.equal((await scene.look())?.['nth'], 2);
});

test('a change of the provider ends its answers at once, those under way among them, and no others', async () => {
  const scene = new Scene();
  const { shared, asked } = scene;
  await scene.look(OTHER);
  await scene.look();
  const underWay = shared.ask({ ...SHOW, op: 'errors', after: 0, limit: 1 });
  shared.drop(SHOW.pid);
  asked.at(-1)?.settle({ nth: 'before' });
  assert.deepEqual(await underWay, { nth: 'before' });
  assert.equal((await scene.look({ ...SHOW, op: 'errors', after: 0, limit: 1 }))?.['nth'], 4);
  assert.equal((await scene.look())?.['nth'], 5);
  assert.equal((await scene.look(OTHER))?.['nth'], 1);
  shared.clear();
  assert.equal((await scene.look(OTHER))?.['nth'], 6);
});

test('what holds now is asked after the call: who asks while one is under way gets the next one, with all others', async () => {
  const { shared, asked } = new Scene();
  const first = shared.askNow(SHOW);
  const [second, third] = [shared.askNow(SHOW), shared.askNow(SHOW)];
  assert.equal(asked.length, 1);
  asked[0]?.settle({ nth: 1 });
  assert.deepEqual(await first, { nth: 1 });
  await turn();
  assert.equal(asked.length, 2);
  const fourth = shared.askNow(SHOW);
  asked[1]?.fail(new Error('broken'));
  await assert.rejects(second, /broken/);
  await assert.rejects(third, /broken/);
  await turn();
  assert.equal(asked.length, 3);
  asked[2]?.settle({ nth: 3 });
  assert.deepEqual(await fourth, { nth: 3 });
  void shared.askNow(SHOW);
  assert.equal(asked.length, 4);
});

test('what holds now is known while the change mark is that of before the question, and the answer is young', async () => {
  const scene = new Scene();
  const { shared, asked, clock } = scene;
  const now = () => shared.askNow(SHOW);
  scene.mark = '1';
  const both = [now(), now()];
  assert.equal(asked.length, 1);
  scene.mark = '2';
  const third = now();
  assert.equal(asked.length, 2, 'what was asked before the change says nothing about it');
  asked[0]?.settle({ nth: 1 });
  asked[1]?.settle({ nth: 2 });
  assert.deepEqual(await Promise.all([...both, third, now()]), [
    { nth: 1 },
    { nth: 1 },
    { nth: 2 },
    { nth: 2 },
  ]);
  clock.advance(1000);
  void now();
  assert.equal(asked.length, 3);
  shared.drop(SHOW.pid);
  void now();
  assert.equal(asked.length, 4);
  scene.mark = undefined;
  void now();
  assert.equal(asked.length, 5, 'without a mark nothing is known');
});

test('no answer, and a question that failed, are not kept', async () => {
  const { shared, asked } = new Scene();
  const away = shared.ask(SHOW);
  asked[0]?.settle(undefined);
  assert.equal(await away, undefined);
  const failed = shared.ask(SHOW);
  asked[1]?.fail(new Error('broken'));
  await assert.rejects(failed, /broken/);
  assert.equal(shared.length, 0);
  void shared.ask(SHOW);
  assert.equal(asked.length, 3);
});

test('what is kept has a bound, and the oldest give way; with a time or a bound of 0 nothing is kept', async () => {
  const scene = new Scene(1000, 3000);
  for (let pid = 1; pid <= 100; pid++) {
    await scene.look({ op: 'show', pid }, 'x'.repeat(900));
    assert.ok(scene.shared.length <= 3000, `${scene.shared.length}`);
  }
  const asked = scene.asked.length;
  await scene.look({ op: 'show', pid: 100 });
  assert.equal(scene.asked.length, asked);
  await scene.look({ op: 'show', pid: 90 });
  assert.equal(scene.asked.length, asked + 1);
  scene.clock.advance(1000);
  await scene.look({ op: 'show', pid: 101 });
  assert.ok(scene.shared.length < 100, 'what is too old goes with the next question');
  for (const none of [new Scene(0), new Scene(1000, 0)]) {
    await none.look();
    await none.look();
    assert.equal(none.asked.length, 2);
  }
});

test('a page is made again for another answer, another key and another reader', () => {
  const bodies = new SharedBodies();
  const made = { contents: 0, frames: 0 };
  const make = () => html`content ${String(++made.contents)}`;
  const around = () => `frame ${++made.frames}: ${textOf(PLACE)}.`;
  const [a, b, other] = [{}, {}, {}];
  const seen = (
    [
      [[a, b], '', 'one'],
      [[a, b], '', 'one'],
      [[a, b], '', 'two'],
      [[a, other], '', 'two'],
      [[a, other], 'Europe/Berlin', 'two'],
      [[other, b], '', 'two'],
    ] as const
  ).map(([from, key, reader]) => Buffer.from(bodies.pageOf({ from, key, make, reader, around })).toString());
  assert.deepEqual(seen, [
    'frame 1: content 1.',
    'frame 1: content 1.',
    'frame 2: content 1.',
    'frame 3: content 2.',
    'frame 4: content 3.',
    'frame 5: content 4.',
  ]);
});
