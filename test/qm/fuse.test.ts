import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAX_HELD_SETS } from '../../src/db/queue/held-removals.js';
import {
  bench,
  carryOut,
  codes,
  decide,
  deletes,
  held,
  heldSets,
  names,
  send,
  sendFull,
  start,
  store,
  waiting,
} from './fused.js';
import { url } from './support.js';

test('a full set that would remove too much is held: its updates are carried out, its provider is told', async () => {
  await store(...names(0, 10));
  const counts = await send([url('p0', { len: '1' }), url('new')], { set: 'full' });
  assert.deepEqual(counts, { queued: 1, duplicate: 0, unchanged: 1, deleted: 0 });
  assert.deepEqual(held(), names(0, 10));
  assert.deepEqual(waiting(), ['new']);
  assert.equal(heldSets().length, 1);
  assert.deepEqual(bench.store.held.waiting(), { sets: 1, urls: 9, decided: 0 });
  const [error] = bench.all<{ code: number; text: string; attrs: string }>('SELECT * FROM pierr');
  assert.equal(error?.code, 205);
  assert.match(
    error?.text ?? '',
    /^9 of 10 urls would be removed by a set: held back; unless the operator has decided since, /,
  );
  assert.equal(error?.attrs, ' curl="http://127.0.0.1/" mimetype="*/*"');
  assert.equal(bench.value('SELECT nurlerrs FROM pidb'), 1);
});

test('both limits must be exceeded', async () => {
  await store(...names(0, 10));
  // Half of ten is not more than half.
  await sendFull(...names(0, 5));
  assert.deepEqual(held(), names(0, 5));
  // Four of five are more than half, but not more than four.
  await sendFull('p0');
  assert.deepEqual(held(), ['p0']);
  assert.deepEqual(heldSets(), []);
});

test('only content counts, not what waits', async () => {
  await bench.send(
    7,
    names(0, 10).map(name => url(name)),
  );
  await sendFull();
  assert.deepEqual([waiting(), heldSets()], [[], []]);
});

test('after a cache crash there is nothing to remove: the full set that was wanted is not held', async () => {
  bench.db.prepare("UPDATE pidb SET fullsetwanted = 'cache crash'").run();
  await sendFull(...names(0, 20));
  assert.deepEqual(heldSets(), []);
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), null);
});

test("a provider's own fuse goes before what is configured; a share of 100 holds nothing", async () => {
  await store(...names(0, 10));
  bench.db.prepare('UPDATE pidb SET fusepercent = 10, fuseurls = 0').run();
  await sendFull(...names(0, 8));
  assert.equal(heldSets().length, 1);
  bench.db.prepare('UPDATE pidb SET fusepercent = 100').run();
  await sendFull();
  assert.deepEqual(held(), []);
});

test('a share of 0 leaves the number to decide, a number of 0 the share', async () => {
  await store(...names(0, 10));
  bench.db.prepare('UPDATE pidb SET fusepercent = 0, fuseurls = 2').run();
  await sendFull(...names(0, 8));
  assert.deepEqual(held(), names(0, 8));
  await sendFull(...names(0, 5));
  assert.deepEqual(held(), names(0, 8));
  bench.db.prepare('UPDATE pidb SET fusepercent = 50, fuseurls = 0').run();
  await sendFull(...names(0, 4));
  assert.deepEqual(held(), names(0, 4));
});

test('the same full set again removes what it does not name, and nothing is held any more', async () => {
  await store(...names(0, 10));
  await sendFull('p0');
  const counts = await sendFull('p0');
  assert.deepEqual(counts, { queued: 0, duplicate: 0, unchanged: 1, deleted: 9 });
  carryOut();
  assert.deepEqual([held(), heldSets()], [['p0'], []]);
});

test('the same full set again is paid for already, the next one is not', async () => {
  await store(...names(0, 10));
  const used = () => bench.value('SELECT fullsetsused FROM pidb');
  const before = Number(used());
  await sendFull('p0');
  assert.equal(used(), before + 1);
  await sendFull('p0');
  assert.equal(used(), before + 1);
  await sendFull('p0');
  assert.equal(used(), before + 2);
});

test('a set without a digest is never the same', async () => {
  await store(...names(0, 10));
  for (let time = 0; time < 2; time++) await bench.send(7, [url('p0', { len: '1' })], { set: 'full' });
  assert.deepEqual(held(), names(0, 10));
});

test('a partial set is no confirmation of a full one with the same digest', async () => {
  await store(...names(0, 10));
  await send([], { set: 'full', digest: 'd' });
  await send(deletes(...names(0, 9)), { digest: 'd' });
  assert.deepEqual(held(), names(0, 10));
  assert.equal(heldSets().length, 2);
});

test('a later full set settles what an earlier one would have removed', async () => {
  await store(...names(0, 10));
  await sendFull('p0');
  await sendFull(...names(0, 7));
  carryOut();
  assert.deepEqual([held(), heldSets()], [names(0, 7), []]);
  assert.equal(decide('release'), 0);
});

test('the full set that is held fulfils the wish for one', async () => {
  await store(...names(0, 10));
  bench.db.prepare("UPDATE pidb SET fullsetwanted = 'operator'").run();
  await sendFull('p0');
  assert.deepEqual(bench.all('SELECT fullsetwanted, fullsetsused FROM pidb'), [
    { fullsetwanted: null, fullsetsused: 0 },
  ]);
});

test('a partial set with too many deletes is held whole; its updates are carried out', async () => {
  await store(...names(0, 10));
  const counts = await send([...deletes(...names(0, 8)), url('new')]);
  assert.deepEqual(counts, { queued: 1, duplicate: 0, unchanged: 0, deleted: 0 });
  assert.deepEqual([held(), waiting()], [names(0, 10), ['new']]);
  assert.deepEqual(codes(), [205]);
  assert.equal(bench.value('SELECT count(*) FROM helddelete'), 8);
});

test('deletes of what is neither held nor waiting do not count, nor do those of a few', async () => {
  await store(...names(0, 10));
  const counts = await send([...deletes('p0', 'p1'), ...deletes(...names(50, 60))]);
  assert.deepEqual(counts, { queued: 0, duplicate: 0, unchanged: 10, deleted: 2 });
  assert.deepEqual(held(), names(2, 10));
  assert.deepEqual([heldSets(), bench.value('SELECT count(*) FROM helddelete')], [[], 0]);
});

test('where a UNS does not say how many deletes there are, all urls may be', async () => {
  await store(...names(0, 10));
  await bench.send(7, deletes(...names(0, 8)));
  assert.deepEqual(held(), names(0, 10));
});

test('within a held set the last word on a url counts', async () => {
  await store(...names(0, 10));
  await send([...deletes(...names(0, 8)), url('p0', { len: '1' }), url('p1', { len: '2' })]);
  assert.deepEqual(waiting(), ['p1']);
  decide('release');
  carryOut();
  assert.deepEqual(held(), ['p0', 'p1', 'p8', 'p9']);
});

test('a delete of what only waits is carried out with its set', async () => {
  await store(...names(0, 10));
  await bench.send(
    7,
    names(20, 30).map(name => url(name)),
  );
  const counts = await send(deletes(...names(20, 30)));
  assert.deepEqual(counts, { queued: 0, duplicate: 0, unchanged: 0, deleted: 10 });
  assert.deepEqual([waiting(), held()], [[], names(0, 10)]);
});

test('the same partial set again is carried out', async () => {
  await store(...names(0, 10));
  for (const expected of [10, 2]) {
    await send(deletes(...names(0, 8)));
    assert.equal(held().length, expected);
  }
  carryOut();
  assert.deepEqual([heldSets(), bench.value('SELECT count(*) FROM helddelete')], [[], 0]);
});

test('a set with many deletes, cut off anywhere and sent again, is judged as a whole', async () => {
  const urls = [...deletes(...names(0, 8)), url('new'), ...deletes(...names(30, 33))];
  for (let cut = 0; cut <= urls.length; cut++) {
    bench.close();
    start();
    await store(...names(0, 10));
    const head = bench.head(7, urls.length, { deletes: 11, digest: 'd' });
    const first = await bench.intake.begin('u1', head);
    first.urls(urls.slice(0, cut));
    first.cut();
    assert.deepEqual(held(), names(0, 10));
    bench.reopen();
    const again = await bench.intake.begin('u1', head);
    again.urls(urls);
    assert.deepEqual(
      await again.end(),
      { queued: 1, duplicate: 0, unchanged: 3, deleted: 0 },
      `cut after ${cut}`,
    );
    assert.deepEqual(bench.all('SELECT state, urls FROM held'), [{ state: 1, urls: 8 }]);
    assert.equal(bench.value('SELECT count(*) FROM helddelete'), 8);
    assert.deepEqual(codes(), [205]);
  }
});

test('a set with many deletes of which the rest never comes removes nothing', async () => {
  await store(...names(0, 10));
  const head = bench.head(7, 9, { deletes: 9 });
  const intake = await bench.intake.begin('u1', head);
  intake.urls(deletes(...names(0, 6)));
  intake.cut();
  bench.intake.damaged('u1', head.entry, 7);
  carryOut();
  assert.deepEqual([held(), heldSets()], [names(0, 10), []]);
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), 'cache crash');
});

test('the sets of a provider that are held have a limit; for what is given up a full set is wanted', async () => {
  await store(...names(0, 10));
  for (let n = 0; n < MAX_HELD_SETS; n++) await send(deletes(...names(0, 8)), { digest: `d${n}` });
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), null);
  await send(deletes(...names(0, 8)), { digest: 'one more' });
  carryOut();
  assert.equal(heldSets().length, MAX_HELD_SETS);
  assert.equal(bench.value("SELECT count(*) FROM held WHERE digest = 'd0'"), 0);
  assert.equal(bench.value('SELECT fullsetwanted FROM pidb'), 'cache crash');
});

test('its error is kept though the provider has as many errors as are kept', async () => {
  bench.close();
  start({ errorsKept: 1 });
  await store(...names(0, 10));
  bench.store.transaction(() => bench.store.errors.add(7, url('x'), 404, 'gone'));
  await sendFull('p0');
  assert.deepEqual(codes(), [404, 205]);
});
