// An LCC of two homes, side by side on two machines: content providers know one front end; one of them goes to the other home while it
// sends, and the machine that owns both is lost meanwhile. All of it on loopback.
import { takeOver } from '../../dist/test/support/at-end.js';
import { say, show, title } from './scene.mjs';

const CALLERS = 6;
const SETS_BEFORE = 60;
/** Taken over before these are loaded: they would leave it to the runner of tests. */
const ended = takeOver();
const { KeptCluster } = await import('../../dist/test/support/cluster.js');
const { noEngine } = await import('../../dist/test/support/engine.js');
const { until } = await import('../../dist/test/support/until.js');

export async function showShards(scene) {
  if (noEngine) throw new Error('the engine is missing: apt-get install mariadb-server');
  scene.onEnd(ended);

  title('One home on two machines, its engine, and a front end that content providers know');
  const first = await KeptCluster.start({ machines: 2, callers: CALLERS, removes: true, front: true });
  const [h1, h2] = first.machines;
  const lookAt = async (machine, line) => {
    show(line);
    process.stdout.write((await machine.sh(line)).stdout.toString());
  };
  await lookAt(h1, 'lccmap list');

  title('A second home beside it, on the same machines, which takes new providers');
  const second = await KeptCluster.start({ beside: first });
  await lookAt(h1, 'lccmap list');

  title(`${CALLERS} content providers send sets, and take pages back, all the time`);
  first.callers.start();
  await until('sets are accepted', () => first.callers.sets.length >= SETS_BEFORE);
  say(`${first.callers.sets.length} sets accepted so far, all by home 0.`);

  title('Provider 1 goes to home 1, and provider 2 after it');
  const move = 'lccmap move --pid=1 --to=1 && lccmap move --pid=2 --to=1';
  await lookAt(h1, move);
  await lookAt(h1, 'lccmap list');

  title('The machine that owns both homes is lost in the middle: kill -9 of everything there');
  const beganMs = performance.now();
  await Promise.all([h1.killLccd(), second.machines[0].killLccd()]);
  const { accepted, fetched } = await first.secondsSince(beganMs);
  say(
    `The next set was accepted after ${accepted.toFixed(1)} s, the next page asked for after ${fetched.toFixed(1)} s.`,
  );
  await Promise.all([h1.start(), second.machines[0].start()]);
  say('It is back, and begins again as a standby of both.');

  title('They arrive');
  await until(
    'both have moved',
    async () => (await first.engine.node.query('select * from lcc.move')).length === 0,
  );
  await lookAt(h2, 'lccmap list');
  await lookAt(h2, 'lccmap where 1');
  await first.callers.after(performance.now());

  title('Counted');
  const faults = await first.faults();
  const told = [...first.callers.errors].map(([code, times]) => `${code} ${times} times`).join(', ');
  const lost = faults.filter(fault => fault.startsWith('accepted'));
  say(
    `accepted: ${first.callers.sets.length} sets; pages that should be there: ${first.callers.urls.length}`,
  );
  say(`of these lost: ${lost.length}`);
  say(`most requests at a provider at once: ${first.site.mostAtOnce}`);
  say(`content providers were told to come again: ${told === '' ? 'never' : told}`);
  say(`else amiss: ${faults.filter(fault => !lost.includes(fault)).join('; ') || 'nothing'}`);
  if (faults.length > 0) throw new Error(`${faults.length} things are not as promised`);
  scene.sayTheEnd();
}
