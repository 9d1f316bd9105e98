/** lccstored(8): takes the records of spiders, and keeps their documents. */
import { STORE_FIGURES } from '../spider/store-server/figures.js';
import { DEFAULT_STORE_PORT, startStore } from '../spider/store-server/start.js';
import { runAsDaemon } from './daemon.js';
import { CONFIG_OPTION, settingOption } from './options.js';
import type { CommandSpec } from './run.js';

export const command: CommandSpec = {
  name: 'lccstored',
  summary:
    'Store server of the Spider: keeps the documents that spiders send, and acknowledges each when it is on disk.',
  options: [
    settingOption(
      '--listen <ENDPOINT>',
      'spider.store_listen',
      'where spiders connect',
      `; port ${DEFAULT_STORE_PORT}`,
    ),
    settingOption('--dir <DIR>', 'spider.store_dir', 'where documents are kept'),
    settingOption('--compress <HOW>', 'spider.store_compress', 'gzip or none, for what comes from now on'),
    settingOption(
      '--max-pending <SIZE>',
      'spider.store_max_pending_bytes',
      'records not on disk yet at which no more are read',
    ),
    settingOption(
      '--max-doc <SIZE>',
      'spider.store_max_doc_bytes',
      'longest document; a longer one is taken for damage',
    ),
    CONFIG_OPTION,
  ],
  example: 'lccstored --listen=127.0.0.1:9022 --dir=/var/lib/store --compress=gzip',
  run: context =>
    runAsDaemon(context, {
      metrics: { listen: 'spider.store_metrics_listen', figures: STORE_FIGURES },
      start: startStore,
    }),
};
