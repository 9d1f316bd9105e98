/** Pages put on rails: generated and put by lccd-soft, which also removes their generated names, and by curl -T. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { idsOf, pagesOf } from '../../test/support/clear.js';
import { startRail } from '../../test/support/rails.js';
import { until } from '../../test/support/until.js';
import { compare, peakRssBytes, shell, type Outcome } from '../harness.js';
import {
  amountOf,
  countPages,
  CURL,
  newHome,
  QUIET,
  RAILS,
  stop,
  timeDaemon,
  WAIT_MS,
  WORKERS,
} from './homes.js';

const SOFT_PAGES = amountOf(1000);
const PAGE_BYTES = 20_000;

export async function soft(): Promise<Outcome> {
  const home = newHome();
  const rails = await home.addRails(RAILS, { workers: WORKERS }, QUIET);
  const pages = pagesOf(idsOf(SOFT_PAGES));
  const site = await startRail(
    'nginx',
    join(home.dir, 'site'),
    `${QUIET} rewrite "^(.*)-[0-9]{17}([.]html)$" $1$2 break;`,
  );
  try {
    site.write(pages, 'x'.repeat(PAGE_BYTES));
    home.db.targets.put({ name: 'www', kind: 'elementary', lbUrl: site.url, host: null });
    home.db.soft.putRule({ url: '/**', target: 'www', isPattern: 1, enabled: 1, minIntervalMs: 0 });
    const [puts, gets] = [join(home.dir, 'soft.puts'), join(home.dir, 'soft.gets')];
    writeFileSync(
      puts,
      pages
        .flatMap(page =>
          rails.map(rail => `upload-file=${site.docroot}${page}\nurl=${rail.url}${page.slice(1)}\n`),
        )
        .join(''),
    );
    writeFileSync(gets, pages.map(page => `url=${site.url}${page.slice(1)}\noutput=/dev/null\n`).join(''));
    const publish = () =>
      home.db.write(() => {
        for (const url of pages) home.db.soft.publish({ url, target: 'www' }, Date.now());
      });
    const isDone = () => home.db.soft.waitingCount() === 0;
    const check = () => {
      const found = rails.map(countPages);
      if (found.some(count => count !== SOFT_PAGES)) throw new Error(`lccd-soft: ${found.join(', ')} pages`);
    };
    const startSoft = () => home.daemons.start('lccd-soft', home.dir, []);
    const daemon = startSoft();
    await daemon.ready;
    const outcome = await compare({
      work: `clear: ${SOFT_PAGES.toLocaleString('en-US')} pages of 20 KB put on 3 rails`,
      amount: SOFT_PAGES * RAILS.length,
      unit: 'puts',
      ours: {
        name: 'lccd-soft, which runs: from their publication, with their generation, until their generated names are removed',
        async run() {
          const startedMs = performance.now();
          publish();
          await until('all pages are published', isDone, WAIT_MS);
          const seconds = (performance.now() - startedMs) / 1000;
          check();
          return { seconds, maxRssBytes: peakRssBytes(daemon.child.pid ?? 0) };
        },
      },
      peers: [
        { contender: shell('curl -Z -T', `${CURL} -K ${puts}`), atLeast: 0.7 },
        { contender: shell('curl -Z, then curl -Z -T', `${CURL} -K ${gets} && ${CURL} -K ${puts}`) },
      ],
      rounds: 3,
    });
    await stop(daemon);
    publish();
    const { seconds } = await timeDaemon(startSoft(), isDone);
    check();
    const rate = Math.round((SOFT_PAGES * RAILS.length) / seconds).toLocaleString('en-US');
    return { ...outcome, notes: [`lccd-soft from its start, with pages that wait for it: ${rate} puts/s`] };
  } finally {
    await site.stop();
  }
}
