import assert from 'node:assert/strict';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { test } from 'node:test';
import { BotManagerHome } from '../support/bot-manager.js';

const FETCHES = Number(process.env['LCC_TEST_FETCHES'] ?? 25_000);
const SLOTS = 32;
const NAME_BLOCK = 1024;
/** Of all fetches, those after which everything has been used that will be: 10 000, the heap of Node 24 grows longer. */
const WARM_UP = 0.4;
/**
 * V8 lets a heap grow for as long as nobody needs the room, on Node 24 by 50 MB and more; in one of this size a leak of a
 * few KB a fetch ends the process instead.
 */
const HEAP = { NODE_OPTIONS: '--max-old-space-size=48 --max-semi-space-size=4' };
/** What is not in the heap, and what of the heap has not been collected yet. */
const SLACK_BYTES = 32 * 1024 * 1024;

interface Use {
  files: number;
  sockets: number;
  rssBytes: number;
}

function useOf(pid: number): Use {
  const use: Use = { files: 0, sockets: 0, rssBytes: 0 };
  for (const fd of readdirSync(`/proc/${pid}/fd`)) {
    let target: string;
    try {
      target = readlinkSync(`/proc/${pid}/fd/${fd}`);
    } catch {
      // Closed since it was listed.
      continue;
    }
    if (target.startsWith('socket:')) use.sockets++;
    // What is being written at this instant comes and goes.
    else if (!/\/store\/..\/../.test(target)) use.files++;
  }
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  use.rssBytes = Number(kilobytes) * 1024;
  return use;
}

test(`${FETCHES} fetches leave robot and Bot Manager with the memory and descriptors they had`, async t => {
  const bm = await BotManagerHome.make(NAME_BLOCK);
  const { source, site } = bm;
  const page = 'x'.repeat(4096);
  site.answer = (_request, response) => void response.end(page);
  const manager = bm.startManager(HEAP);
  const robot = bm.startRobot('lccbot', SLOTS, HEAP);
  try {
    await source.slots(SLOTS);
    let begun = 0;
    let failed = 0;
    /** One lane: fetches, has what it fetched deleted, goes on; each keeps a few requests on their way. */
    const lane = async (name: string, upTo: number) => {
      while (begun < upTo) {
        const result = await source.fetch({ lane: name, url: site.urlOf(`/${++begun}`) });
        if (result?.status !== 'ok') failed++;
        else await source.delete('m1', result.fileId);
      }
    };
    const fetchUpTo = (upTo: number) =>
      Promise.all(Array.from({ length: SLOTS * 4 }, (_, n) => lane(String(n % (SLOTS * 2)), upTo)));
    /** A daemon that has ended answers no fetch. */
    const ended = [manager, robot].map(async daemon => {
      throw new Error(`a daemon ended (${await daemon.ended}): ${daemon.log.slice(-2000)}`);
    });
    const uses = () => [manager, robot].map(({ child }) => useOf(child.pid ?? 0));

    await Promise.race([fetchUpTo(FETCHES * WARM_UP), ...ended]);
    const before = uses();
    await Promise.race([fetchUpTo(FETCHES), ...ended]);
    const after = uses();
    t.diagnostic(JSON.stringify({ before, after }));
    assert.equal(failed, 0);
    for (const [n, name] of ['lccd-bm', 'lccbot'].entries()) {
      const [was, is] = [before[n], after[n]];
      assert.ok(was !== undefined && is !== undefined);
      assert.equal(is.files, was.files, `${name}: files`);
      // A slot's connection may have been closed meanwhile, or not.
      assert.ok(
        Math.abs(is.sockets - was.sockets) <= SLOTS,
        `${name}: sockets ${was.sockets} → ${is.sockets}`,
      );
      assert.ok(is.rssBytes <= was.rssBytes + SLACK_BYTES, `${name}: ${was.rssBytes} → ${is.rssBytes} bytes`);
    }
  } finally {
    await bm.remove();
  }
});
