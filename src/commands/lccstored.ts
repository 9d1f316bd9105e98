/** lccstored(8): takes the records of spiders, and keeps their documents. */
import { STORE_FIGURES } from '../spider/store-server/figures.js';
import { DEFAULT_STORE_PORT, startStore } from '../spider/store-server/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, textOf, textsOf } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccstored',
  summary:
    'Store server of the Spider: keeps the documents that spiders send, and acknowledges each when it is on disk.',
  options: [
    {
      flags: '--listen <ENDPOINT>',
      help: `where spiders connect; may be repeated (spider.store_listen; port ${DEFAULT_STORE_PORT})`,
      repeat: true,
    },
    { flags: '--dir <DIR>', help: 'where documents are kept (spider.store_dir)' },
    { flags: '--compress <HOW>', help: 'gzip or none, for what comes from now on (spider.store_compress)' },
    {
      flags: '--max-pending <SIZE>',
      help: 'records not on disk yet at which no more are read (spider.store_max_pending_bytes)',
    },
    {
      flags: '--max-doc <SIZE>',
      help: 'longest document; a longer one is taken for damage (spider.store_max_doc_bytes)',
    },
    CONFIG_OPTION,
  ],
  example: 'lccstored --listen=127.0.0.1:9022 --dir=/var/lib/store --compress=gzip',
  run(context) {
    const { options } = context;
    return runAsDaemon(
      context,
      {
        name: 'lccstored',
        metrics: { listen: 'spider.store_metrics_listen', figures: STORE_FIGURES },
        start: startStore,
      },
      {
        'spider.store_listen': textsOf(options, 'listen'),
        'spider.store_dir': textOf(options, 'dir'),
        'spider.store_compress': textOf(options, 'compress'),
        'spider.store_max_pending_bytes': textOf(options, 'maxPending'),
        'spider.store_max_doc_bytes': textOf(options, 'maxDoc'),
      },
    );
  },
};
