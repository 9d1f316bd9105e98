// npm run demo [-- DIR | clear | cluster | crawl | push | shards | spider | vectors]: a private LCC and what it does for a site, each command
// line printed as it is run. DIR is a directory in the place of this project's documentation; `clear` shows cache clearing, `cluster` three
// machines of which one is lost, `crawl` a site that announces nothing, `push` one that pushes by IndexNow, `shards` an LCC of two homes,
// `spider` the Spider, `vectors` pages for a model. All of it lives in a temporary directory.
import { constants } from 'node:os';
import { showClearing } from './clear.mjs';
import { showCrawl } from './crawl.mjs';
import { showDocuments } from './documents.mjs';
import { showPush } from './push.mjs';
import { Scene } from './scene.mjs';
import { showSpider } from './spider.mjs';
import { showVectors } from './vectors.mjs';

const scene = new Scene();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => void scene.end().then(() => process.exit(128 + constants.signals[signal])));
// The reader of the output is gone: a closed terminal, a pipe into head.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', () => void scene.end().then(() => process.exit(1)));
try {
  await scene.build();
  const [word] = process.argv.slice(2);
  const shows = {
    clear: showClearing,
    // It needs what tests have, which is built by now.
    cluster: async at => (await import('./cluster.mjs')).showCluster(at),
    crawl: showCrawl,
    push: showPush,
    shards: async at => (await import('./shards.mjs')).showShards(at),
    spider: showSpider,
    vectors: showVectors,
  };
  await (Object.hasOwn(shows, word) ? shows[word](scene) : showDocuments(scene, word));
} catch (error) {
  scene.complain(error);
  process.exitCode = 1;
} finally {
  await scene.end();
}
