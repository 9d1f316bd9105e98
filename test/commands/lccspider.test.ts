/** The real lccspider, between a URL server and store servers that a test plays. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { answer, rawServer } from '../fetch/support.js';
import { PlayedStore, PlayedUrlServer } from '../spider/transaction/support.js';
import { runCommand } from '../support/command.js';
import { Daemons, statusOf } from '../support/daemon.js';
import { until } from '../support/until.js';

const home = mkdtempSync(join(tmpdir(), 'lccspider-'));
const daemons = new Daemons();
after(async () => {
  await daemons.end();
  rmSync(home, { recursive: true, force: true });
});

describe('lccspider', () => {
  it('fetches, stores, says DONE, shows its figures, and ends in good order when it is told to', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const [urls, store] = [await PlayedUrlServer.start(), await PlayedStore.start()];
    const spider = daemons.start('lccspider', home, [
      `--urlserver=127.0.0.1:${urls.port}`,
      `--store=127.0.0.1:${store.port}`,
      '-c',
      '3',
      '--timeout-update=10000',
      '--timeout-req=60000',
      '--max-doc-size=2',
      '--allow-private',
    ]);
    await spider.ready;
    await urls.credits(3);
    urls.send(5, site.url);
    await urls.dones(1);
    assert.deepEqual(
      store.records.map(({ docId, cut, document }) => [docId, cut, document.toString()]),
      [[5, true, 'pa']],
    );
    assert.match(site.requests[0] ?? '', /\r\nuser-agent: lccspider/);
    const status = await statusOf(home, 'lccspider');
    assert.equal(status['fetched'], 1);
    assert.equal(status['url_servers'], 1);
    await spider.logged(`"to":"127.0.0.1:${urls.port}","role":"URL server"`);
    await spider.logged(`"to":"127.0.0.1:${store.port}","role":"store server"`);
    assert.equal(await spider.stop(), 0);
    assert.ok(urls.socket?.readableEnded);
  });

  it('fetches from no private address unless it is told to, and follows no redirect there', async () => {
    const site = await rawServer(
      socket => void socket.write(answer('', 'Location: http://10.1.1.1/\r\n', '302 There')),
    );
    const [urls, store] = [await PlayedUrlServer.start(), await PlayedStore.start()];
    const edge = [`--urlserver=127.0.0.1:${urls.port}`, `--store=127.0.0.1:${store.port}`];
    const strict = daemons.start('lccspider', home, [...edge, '--name=strict']);
    await urls.credits(64);
    urls.send(1, site.url, { ip: '127.0.0.1' });
    urls.send(2, `http://localhost:${site.port}/`);
    urls.send(3, 'http://[::1]/');
    await urls.dones(3);
    assert.deepEqual(
      store.records.map(({ reason }) => reason),
      Array.from({ length: 3 }, () => 'address-forbidden'),
    );
    await strict.stop();
    assert.equal(site.requests.length, 0);
    daemons.start('lccspider', home, [...edge, '--name=lax', '--allow-address=127.0.0.0/8']);
    await until('it asks', () => urls.connections === 2 && urls.credit > 0);
    urls.send(4, site.url);
    await urls.dones(4);
    assert.deepEqual(
      store.of(4).map(({ reason, redirected }) => [reason, redirected]),
      [['forbidden-target', true]],
    );
  });

  it('has no more slots than it may have files', async () => {
    const [urls, store] = [await PlayedUrlServer.start(), await PlayedStore.start()];
    const edge = [`--urlserver=127.0.0.1:${urls.port}`, `--store=127.0.0.1:${store.port}`];
    const few = ['sh', '-c', 'ulimit -n 364; exec "$@"', 'sh'];
    const spider = daemons.start('lccspider', home, [...edge, '--name=few', '-c', '1000'], {}, few);
    await urls.credits(1);
    assert.equal(urls.credit, 200);
    await spider.logged('fewer slots than configured');
    assert.equal(await spider.stop(), 0);
  });

  it('says what is wrong with its options', () => {
    const wrong: [args: string[], says: RegExp][] = [
      [['--store=9022'], /--urlserver=ENDPOINT is missing/],
      [['--urlserver=9020'], /--store=ENDPOINT is missing/],
      [['--urlserver=9020', '--store=9022,nothing here'], /endpoint "nothing here"/],
      [['--urlserver=9020', '--store=9022', '-c', '0'], /spider\.slots = .*1 to 65535/],
      [['--urlserver=9020', '--store=9022', '--name=a/b'], /--name=a\/b/],
      [['--urlserver=9020', '--store=9022', '--allow-address=here'], /network \\?"here/],
    ];
    for (const [args, says] of wrong) {
      const { status, stderr } = runCommand(home, 'lccspider', args);
      assert.match(stderr, says);
      assert.equal(status, 64, stderr);
    }
  });
});
