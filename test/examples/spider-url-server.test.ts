/** examples/spider/url-server.py, which counts credit and listens for signs of life, and the real lccspider (B3). */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { PlayedStore } from '../spider/transaction/support.js';
import { Daemons } from '../support/daemon.js';
import { LineSpider } from '../support/line-spider.js';
import { ROOT } from '../support/tree.js';
import { until, within } from '../support/until.js';

const home = mkdtempSync(join(tmpdir(), 'url-server-py-'));
const daemons = new Daemons();
after(async () => {
  await daemons.end();
  rmSync(home, { recursive: true, force: true });
});

const skip = spawnSync('python3', ['--version']).error === undefined ? false : 'python3 is not installed';
const BOMBS = 64;
const PAGES = 100;
/** Of each bomb, in 64 KB or so. */
const BOMB_BYTES = 64 * 1024 * 1024;

/** The example with a list of urls. */
function startExample(urls: readonly string[], timeoutUpdateMs: number) {
  const file = join(home, 'urls.txt');
  writeFileSync(file, `${urls.join('\n')}\n`);
  const script = join(ROOT, 'examples/spider/url-server.py');
  const child = spawn('python3', [script, '0', file, String(timeoutUpdateMs)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => void (said += part));
  const complaint = text(child.stderr);
  const ended = once(child, 'close').then(async ([status]) => ({
    status: status as number,
    said,
    complaint: await complaint,
  }));
  const port = until('the example listens', () => Number(/port (\d+)/.exec(said)?.[1]) || undefined);
  return { port, ended };
}

describe('the URL server in Python', { skip }, () => {
  it(`drives lccspider, which is never silent, with ${BOMBS} gzip bombs in flight (B3)`, async () => {
    const bomb = gzipSync(Buffer.alloc(BOMB_BYTES));
    const held: ServerResponse[] = [];
    const site = createServer((request, response) => {
      if (request.url?.startsWith('/bomb') !== true) return void response.end(`page ${request.url}`);
      // All of them go off together.
      held.push(response);
      if (held.length === BOMBS)
        for (const each of held) each.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    await once(site.listen(0, '127.0.0.1'), 'listening');
    const root = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const urls = [
      ...Array.from({ length: BOMBS }, (_, i) => `${root}/bomb${i}`),
      ...Array.from({ length: PAGES }, (_, i) => `${root}/page${i}`),
    ];
    const example = startExample(urls, 2000);
    const store = await PlayedStore.start();
    daemons.start('lccspider', home, [
      `--urlserver=127.0.0.1:${await example.port}`,
      `--store=127.0.0.1:${store.port}`,
      '-c',
      String(BOMBS + 4),
      '--timeout-update=2000',
      '--max-doc-size=1048576',
      '--allow-private',
    ]);
    const { status, said, complaint } = await within('the example ends', example.ended);
    assert.equal(complaint, '');
    assert.match(said, new RegExp(`^${urls.length} of ${urls.length} done; the longest silence`, 'm'));
    assert.equal(status, 0, said);
    const documents = new Map(store.records.map(record => [record.docId, record]));
    assert.equal(documents.size, urls.length);
    for (const [docId, { cut, document }] of documents)
      assert.deepEqual(
        [cut, document.length],
        docId <= BOMBS ? [true, 1_048_576] : [false, `page /page${docId - BOMBS - 1}`.length],
      );
    site.close();
  });

  it('sends as many as are asked for, what a spider was silent about to another, and says that it was', async () => {
    const example = startExample(['http://a.example/', 'http://b.example/x', 'http://c.example/'], 100);
    const port = await example.port;
    const [silent, good] = [new LineSpider(port), new LineSpider(port)];
    silent.say('GET 1\r\nnonsense\n');
    const [lost] = await silent.until(1);
    assert.deepEqual([lost?.docId, lost?.hostName, lost?.url], [1, 'a.example', 'http://a.example/']);
    await until('its nonsense is told', () => silent.errs.length === 1);
    good.say('GET 1\n');
    await good.until(1);
    assert.equal(silent.urls.length, 1);
    good.work(5);
    for (const line of good.urls) good.done(line, 0);
    const { status, said } = await within('the example ends', example.ended);
    assert.equal(status, 1);
    assert.match(said, /^3 of 3 done; the longest silence about a url was 0\.[3-9]|^3 of 3 done; .* [1-9]/m);
    assert.deepEqual(
      good.urls.map(({ docId }) => docId).toSorted((a, b) => a - b),
      [1, 2, 3],
    );
  });
});
