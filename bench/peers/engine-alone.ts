/** The spider's engine without anything around it: `node engine-alone.js LIST AT-A-TIME` fetches each url of a list, and drops it. */
import { readFileSync } from 'node:fs';
import { loadConfig } from '../../src/config/load.js';
import { FetchEngine } from '../../src/fetch/engine.js';
import { CallbackSink } from '../../src/fetch/sink.js';
import { spiderEngineOptions } from '../../src/spider/transaction/options.js';

const [list = '', atATime = '1'] = process.argv.slice(2);
const urls = readFileSync(list, 'utf8').trimEnd().split('\n');
const config = loadConfig({
  env: process.env,
  overrides: { 'spider.allow_private': 'true', 'spider.slots': atATime },
});
const engine = new FetchEngine(spiderEngineOptions(config.settings.spider));
const alive = setInterval(() => undefined, 60_000);
let failed = 0;
const next = () => {
  const url = urls.pop();
  if (url === undefined) {
    if (engine.activeCount === 0) clearInterval(alive);
    return;
  }
  engine.fetch({ url, roots: [] }, new CallbackSink(() => undefined), {
    done({ status }) {
      if (status !== 'ok') failed++;
      setImmediate(next);
    },
  });
};
for (let n = 0; n < Number(atATime); n++) next();
process.once('beforeExit', () => {
  engine.close();
  if (failed > 0) throw new Error(`${failed} urls failed`);
});
