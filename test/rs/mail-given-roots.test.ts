/** News of roots that a reset of the password has given up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RsAnswer } from '../../src/wire/qm-rs.js';
import { MailScene } from './mail-support.js';

const stage = new MailScene();

test('a confirmed address hears which directories a reset has given up, each by its name, until when, and what to do', async () => {
  const taken = await stage.start();
  const pid = await stage.provider(taken);
  const lost = Array.from({ length: 9 }, (_, i) => `http://lost.example.org/${'d'.repeat(60)}${i}/`);
  const { db, transitions, mail } = stage.scene;
  const reset = {
    op: 'password',
    pid,
    password: 'x',
    generation: 1,
    roots: ['http://a.example/'],
  } as const;
  const settle = (answer: RsAnswer) => {
    db.write(() => db.outbox.add(1, reset, 0));
    for (const operation of db.outbox.waiting(9)) transitions.settle(operation, answer as never, 1);
  };
  settle({ refused: 'generation', text: 'no' });
  settle({ ok: { pid, generation: 2, given: lost, until: Date.UTC(2026, 11, 4, 12) / 1000 } });
  mail.stir();
  const { body } = await taken.mail(2);
  for (const root of lost) assert.equal(body.split(`given up: ${root}\n`).length, 2, root);
  assert.match(
    body,
    /the password was changed[^]*given up: nothing is fetched of them; what is kept of them is removed 2026-12-04T12:00Z, unless they are proven again before\n[^]*if it was not you, have another password sent to this address/,
  );
});
