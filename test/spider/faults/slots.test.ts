/** Ten thousand urls at a time: none runs out of time, and no descriptor stays. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { openFilesLimit } from '../../../src/lib/open-files.js';
import { slotsFor } from '../../../src/spider/transaction/options.js';
import { answer, rawServer } from '../../fetch/support.js';
import { Daemons } from '../../support/daemon.js';
import { endUrlServers, newHome } from '../../support/url-server.js';
import { until } from '../../support/until.js';
import { PlayedStore, PlayedUrlServer } from '../transaction/support.js';

/** As many as a spider has with the files that it may open; this process, which is the site, may open as many. */
const SLOTS = Math.min(10_000, slotsFor(openFilesLimit()));

/** After them. */
const LATER = 100;

const daemons = new Daemons();
after(async () => {
  await daemons.end();
  await endUrlServers();
});

describe('lccspider with ten thousand slots', () => {
  it('has all of them under way at a time, and nothing of them afterwards', async t => {
    const waiting = new Set<Socket>();
    let wanted = SLOTS;
    const site = await rawServer(socket => {
      waiting.add(socket);
      socket.once('close', () => waiting.delete(socket));
      if (waiting.size === wanted) for (const each of waiting) each.write(answer('page'));
    });
    const [urls, store] = [await PlayedUrlServer.start(), await PlayedStore.start()];
    const spider = daemons.start('lccspider', newHome(), [
      `--urlserver=127.0.0.1:${urls.port}`,
      `--store=127.0.0.1:${store.port}`,
      `--slots=${SLOTS}`,
      '--allow-private',
      '--timeout-req=10min',
    ]);
    await urls.credits(SLOTS);
    const descriptors = () => readdirSync(`/proc/${spider.child.pid}/fd`).length;
    const before = descriptors();
    for (const [round, count] of [SLOTS, LATER].entries()) {
      wanted = count;
      for (let docId = 0; docId < count; docId++)
        urls.send(docId, site.url, { transId: `${round}.${docId}` });
      await urls.dones(round === 0 ? SLOTS : SLOTS + LATER);
      await urls.credits(SLOTS);
      await until('its connections are closed', () => waiting.size === 0);
    }
    assert.ok(
      store.records.every(({ reason }) => reason === 'ok'),
      [...new Set(store.records.map(({ reason }) => reason))].join(),
    );
    assert.equal(store.records.length, SLOTS + LATER);
    await until(`${before} descriptors again`, () => descriptors() <= before);
    const [, peak] =
      /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${spider.child.pid}/status`, 'latin1')) ?? [];
    t.diagnostic(`${SLOTS} slots: ${Math.round(Number(peak) / 1024)} MB at most`);
    assert.equal(await spider.stop(), 0);
  });
});
