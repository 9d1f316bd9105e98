// A kept home: three machines with an LCC and a node of a Galera trio each, content providers that send all the time, and the plug of the
// owner pulled. Machines are network namespaces, where this user may make some, else homes on loopback.
import { takeOver } from '../../dist/test/support/at-end.js';
import { say, show, title } from './scene.mjs';

const CALLERS = 20;
const SETS_BEFORE = 200;
/** Taken over before they are loaded, who would have it done by the runner of tests. */
const ended = takeOver();
const { noMachines, Network } = await import('../../dist/test/machines/support/network.js');
const { KeptCluster } = await import('../../dist/test/support/cluster.js');
const { noGalera } = await import('../../dist/test/support/engine.js');
const { until } = await import('../../dist/test/support/until.js');

export async function showCluster(scene) {
  if (noGalera) throw new Error('the engine is missing: apt-get install mariadb-server galera-4 rsync');
  scene.onEnd(ended);
  const network = noMachines ? undefined : new Network();
  if (network !== undefined) scene.onEnd(() => network.remove());

  title('Three machines, each with lccd and a node of the engine');
  say(network === undefined ? `Homes on loopback (${noMachines}).` : 'Network namespaces of this computer.');
  const cluster = await KeptCluster.start({ engine: 'trio', callers: CALLERS, network });
  const lookAt = async (machine, line) => {
    show(`${line}        # on ${machine.name}`);
    process.stdout.write((await machine.sh(line)).stdout.toString());
  };
  const owner = await cluster.settled();
  await lookAt(owner, 'lcckeep status');

  title(`${CALLERS} content providers send sets all the time`);
  cluster.callers.start();
  await until('sets are accepted', () => cluster.callers.sets.length >= SETS_BEFORE);
  say(`${cluster.callers.sets.length} sets accepted so far; whatever is acknowledged is in the engine.`);

  title(`The plug of ${owner.name} is pulled: kill -9 of everything there, its node of the engine too`);
  const beganMs = performance.now();
  await owner.kill();
  const { accepted, fetched } = await cluster.secondsSince(beganMs);
  const next = await cluster.owner();
  say(`${next.name} has taken the home over.`);
  say(
    `The next set was accepted after ${accepted.toFixed(1)} s, the next page asked for after ${fetched.toFixed(1)} s.`,
  );
  await lookAt(next, 'lcckeep status');

  title(`${owner.name} is back, and begins again as a standby`);
  await Promise.all([owner.node.start(), owner.start()]);
  await cluster.settled();
  await lookAt(next, 'lcckeep status');

  title('Counted');
  const faults = await cluster.faults();
  const told = [...cluster.callers.errors].map(([code, times]) => `${code} ${times} times`).join(', ');
  say(`accepted: ${cluster.callers.sets.length} sets, ${cluster.callers.urls.length} urls`);
  say(`of these lost: ${faults.filter(fault => fault.startsWith('accepted')).length}`);
  say(`most requests at a provider at once: ${cluster.site.mostAtOnce}`);
  say(`content providers were told to come again: ${told === '' ? 'never' : told}`);
  say(`else amiss: ${faults.filter(fault => !fault.startsWith('accepted')).join('; ') || 'nothing'}`);
  if (faults.length > 0) throw new Error(`${faults.length} things are not as promised`);
  scene.sayTheEnd();
}
