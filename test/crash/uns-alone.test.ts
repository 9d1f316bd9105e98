import assert from 'node:assert/strict';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Cp, init, newHome, Receiver, set } from '../support/uns.js';

/** Steps in the order in which they take effect; after the last nothing may be forgotten any more. */
const SPOOLING = ['uns.spool.written', 'uns.spool.synced', 'uns.spool.renamed', 'uns.spool.dirsynced'];
const FORWARDING = ['uns.forwarded', 'uns.spool.removed'];

describe('lccd-uns killed', () => {
  for (const step of [...SPOOLING, 'uns.accepted']) {
    it(`at ${step}: keeps what it acknowledged, forwards nothing that was never whole`, async () => {
      const home = newHome();
      const password = home.addProvider(7);
      const first = await home.start();
      const before = await new Cp(first.port).send(init(7, password) + set('partial', 'a', 'b')).reply;
      assert.match(before, /set_accepted received="2"/);
      await first.stop();

      const doomed = await home.start({ LCC_CRASH_AT: step });
      const reply = await new Cp(doomed.port).send(init(7, password) + set('partial', 'c')).reply;
      await doomed.ended;
      assert.equal(doomed.child.signalCode, 'SIGKILL');
      assert.doesNotMatch(reply, /set_accepted/, 'the acknowledgement comes after every step');

      const receiver = await new Receiver().listen(home.qmPath);
      const next = await home.start();
      assert.deepEqual(home.spooled('tmp'), []);
      const after = await new Cp(next.port).send(init(7, password) + set('partial', 'd')).reply;
      assert.match(after, /seq="3"/);
      await receiver.until(({ sets }) => sets.at(-1)?.curls[0] === 'd');
      const told = receiver.sets.map(({ curls }) => curls.join(' '));
      const whole =
        SPOOLING.indexOf(step) >= SPOOLING.indexOf('uns.spool.renamed') || step === 'uns.accepted';
      assert.deepEqual(told, whole ? ['a b', 'c', 'd'] : ['a b', 'd']);
      assert.equal(new Set(receiver.sets.map(({ head }) => head.entry)).size, told.length);
      await next.stop();
      await receiver.close();
    });
  }

  for (const step of FORWARDING) {
    it(`at ${step}: sends each set again under the name the Queue Manager knows, or not at all`, async () => {
      const home = newHome();
      const password = home.addProvider(7);
      const receiver = await new Receiver().listen(home.qmPath);
      const doomed = await home.start({ LCC_CRASH_AT: step });
      const reply = await new Cp(doomed.port).send(init(7, password) + set('partial', 'a')).reply;
      await doomed.ended;
      const next = await home.start();
      await new Cp(next.port).send(init(7, password) + set('partial', 'b')).reply;
      await receiver.until(({ sets }) => sets.at(-1)?.curls[0] === 'b');
      const [first] = receiver.sets;
      assert.ok(first, reply);
      const names = receiver.sets.map(({ uns, head, curls }) => [uns, head.entry, curls[0]].join(' '));
      const distinct = new Set(names);
      assert.equal(names.length - distinct.size, step === 'uns.forwarded' ? 1 : 0);
      assert.deepEqual(
        [...distinct].map(name => name.split(' ')[2]),
        ['a', 'b'],
      );
      await next.stop();
      await receiver.close();
    });
  }
});

describe('lccd-uns killed', () => {
  it('at uns.connection.synced: never gives a number twice, and has told it to nobody', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const doomed = await home.start({ LCC_CRASH_AT: 'uns.connection.synced' });
    assert.equal(await new Cp(doomed.port).send(init(7, password)).reply, '');
    await doomed.ended;
    assert.equal(doomed.child.signalCode, 'SIGKILL');
    const next = await home.start();
    assert.match(await new Cp(next.port).send(init(7, password) + set('partial', 'a')).reply, /seq="2"/);
    await next.stop();
  });

  it('at uns.spool.setaside: the damaged set is told of and set aside once, and what follows arrives', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const first = await home.start();
    for (const name of ['damaged', 'whole'])
      await new Cp(first.port).send(init(7, password) + set('partial', name)).reply;
    await first.stop();
    const [entry = ''] = home.spooled('new').sort();
    const bytes = readFileSync(home.spoolFile('new', entry));
    bytes[bytes.length - 20] = (bytes[bytes.length - 20] ?? 0) ^ 1;
    writeFileSync(home.spoolFile('new', entry), bytes);

    const receiver = await new Receiver().listen(home.qmPath);
    const doomed = await home.start({ LCC_CRASH_AT: 'uns.spool.setaside' });
    await doomed.ended;
    assert.equal(doomed.child.signalCode, 'SIGKILL');
    const next = await home.start();
    await receiver.until(({ sets }) => sets.at(-1)?.curls[0] === 'whole');
    assert.deepEqual(home.spooled('bad'), [entry]);
    assert.equal(receiver.sets.length, 1);
    await next.stop();
    await receiver.close();
  });
});

describe('lccd-uns', () => {
  it('acknowledges only after file, name and directory are on disk, in that order', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const log = join(home.dir, 'steps');
    const receiver = await new Receiver().listen(home.qmPath);
    const daemon = await home.start({ LCC_STEP_LOG: log });
    await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply;
    await daemon.logged('set absorbed');
    await daemon.stop();
    const steps = readFileSync(log, 'utf8')
      .trim()
      .split('\n')
      .map(line => line.split(' ')[1]);
    const durable = steps.filter(step => step !== 'uns.accepted' && step !== 'uns.forwarded');
    assert.deepEqual(durable, ['uns.connection.synced', ...SPOOLING, 'uns.spool.removed']);
    assert.ok(steps.indexOf('uns.accepted') > steps.indexOf('uns.spool.dirsynced'));
    assert.ok(steps.indexOf('uns.forwarded') < steps.indexOf('uns.spool.removed'));
    await receiver.close();
  });

  it('can have many files synced at a time, as many as UV_THREADPOOL_SIZE says', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const threads = async (env: NodeJS.ProcessEnv) => {
      const daemon = await home.start(env);
      await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply;
      const count = readdirSync(`/proc/${daemon.child.pid}/task`).length;
      await daemon.stop();
      return count;
    };
    const few = await threads({ UV_THREADPOOL_SIZE: '2' });
    assert.equal((await threads({})) - few, 30);
  });
});
