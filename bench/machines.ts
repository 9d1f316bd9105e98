/**
 * Two machines against one: stores and robots in network namespaces of their own, Queue Manager and UNS on another, a
 * site on one more whose pages take a while, as pages do. What bounds it is how many are asked for at a time, which is
 * what more machines are for; on one computer the processors are shared by all.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Cluster } from '../test/machines/support/cluster.js';
import { noMachines } from '../test/machines/support/network.js';
import { compare, type Contender, type Outcome } from './harness.js';
import { sayWhatFor } from './stuck.js';

/** Slots of one machine. */
const SLOTS = 4;
/** As many as two machines have slots: one at a time of each is fetched. */
const PROVIDERS = 2 * SLOTS;
const PAGES = 100;
const LATENCY_MS = 20;
const ROUNDS = 3;
/** Floor for two machines; the rest is what joins them. */
const TWO_AGAINST_ONE = 1.6;

export async function bench(): Promise<Outcome[]> {
  if (noMachines !== false) {
    console.log(`not measured: ${noMachines}`);
    return [];
  }
  const kinds = {
    'two machines': { relay: false, tls: false, machines: 2 },
    'one machine': { relay: false, tls: false, machines: 1 },
    'two machines over TLS': { relay: false, tls: true, machines: 2 },
    'two machines below a relay': { relay: true, tls: false, machines: 2 },
  };
  const clusters: Cluster[] = [];
  const watches: (() => void)[] = [];
  try {
    const contenders: Contender[] = [];
    for (const [name, { relay, tls, machines }] of Object.entries(kinds)) {
      const cluster = new Cluster({ relay, providers: PROVIDERS });
      clusters.push(cluster);
      cluster.site.latencyMs = LATENCY_MS;
      for (let i = 1; i <= machines; i++) cluster.addStore(`m${i}`, [SLOTS], tls);
      await cluster.start();
      watches.push(sayWhatFor(cluster.homeOf(cluster.lcc)));
      contenders.push(contenderOf(name, cluster));
    }
    const [ours, one, ...others] = contenders;
    if (ours === undefined || one === undefined) throw new Error('there are contenders');
    const outcome = await compare({
      work: `Several machines (network namespaces), ${SLOTS} slots each, pages that take ${LATENCY_MS} ms`,
      amount: PROVIDERS * PAGES,
      unit: 'url',
      ours,
      peers: [{ contender: one, atLeast: TWO_AGAINST_ONE }, ...others.map(contender => ({ contender }))],
      rounds: ROUNDS,
    });
    return [outcome];
  } finally {
    for (const quiet of watches) quiet();
    for (const cluster of clusters) await cluster.remove();
  }
}

function contenderOf(name: string, cluster: Cluster): Contender {
  const pages = Array.from({ length: PAGES }, (_, i) => `page-${i}.html`);
  return {
    name,
    async prepare() {
      cluster.site.version++;
      await cluster.run('lccctl', 'pause');
      await cluster.deliver(pages, `mtime="${1_700_000_000 + cluster.site.version}"`);
      while ((await cluster.status())['rows_queued'] !== PROVIDERS * PAGES) await pause(20);
    },
    async run() {
      const resumed = cluster.run('lccctl', 'resume');
      const first = cluster.stores.get('m1');
      if (first !== undefined) await cluster.site.asked(first.machine);
      const begunMs = performance.now();
      await resumed;
      while ((await cluster.status())['rows_queued'] !== 0) await pause(10);
      return { seconds: (performance.now() - begunMs) / 1000 };
    },
  };
}
