/** kill -9 of lccspider, again and again, under a real lccurld: every document is stored. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { answer, rawServer } from '../fetch/support.js';
import { Daemons } from '../support/daemon.js';
import { endUrlServers, newHome, started } from '../support/url-server.js';
import { within } from '../support/until.js';
import { PlayedStore } from '../spider/transaction/support.js';

const URLS = Number(process.env['LCC_TEST_SPIDER_URLS'] ?? 1000);

const daemons = new Daemons();
after(async () => {
  await daemons.end();
  await endUrlServers();
});

describe('lccspider that is killed again and again', () => {
  it('costs no document', async () => {
    const documentOf = (docId: number) => Buffer.alloc((docId * 7919) % 100_000, `${docId} `);
    const site = await rawServer((socket, request) =>
      socket.write(answer(documentOf(Number(/^GET \/(\d+)/.exec(request)?.[1])))),
    );
    const store = await PlayedStore.start();
    const home = newHome();
    const list = join(home, 'list');
    const lines = Array.from({ length: URLS }, (_, at) => `${at + 1}\t${site.url}${at + 1}\n`);
    writeFileSync(list, lines.join(''));
    const server = await started(home, `--file=${list}`, '--per-host=64', '--timeout-update=2000');
    let kills = 0;
    const isOver = () => server.child.exitCode !== null;
    while (!isOver()) {
      const spider = daemons.start('lccspider', home, [
        `--urlserver=127.0.0.1:${server.port}`,
        `--store=127.0.0.1:${store.port}`,
        '--name=spider',
        '--allow-private',
        '--timeout-update=2000',
        '--grace=0',
      ]);
      // At a random place of what it brings: between two records, inside of one, before its acknowledgement.
      const bytes = randomInt(1, 12_000_000);
      const until = store.receivedBytes + bytes;
      const enough = new Promise<void>(resolve => {
        store.onBytes = () => {
          if (store.receivedBytes >= until) resolve();
        };
      });
      await within('the spider brings something, or all is done', Promise.race([enough, server.ended]));
      if (!isOver()) kills++;
      await spider.stop('SIGKILL');
    }
    assert.equal(await server.ended, 0);
    const good = new Map(store.records.map(record => [record.docId, record]));
    for (let docId = 1; docId <= URLS; docId++) {
      const record = good.get(docId);
      assert.ok(record?.success === true, `document ${docId}`);
      assert.ok(record.document.equals(documentOf(docId)), `document ${docId}`);
    }
    assert.ok(kills >= 3, `${kills} kills`);
  });
});
