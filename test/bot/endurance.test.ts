import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { once } from 'node:events';
import { startDaemon } from '../support/daemon.js';
import { TestSource } from '../support/source.js';

const FETCHES = Number(process.env['LCC_TEST_FETCHES'] ?? 25_000);
const SLOTS = 32;
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
  const home = mkdtempSync(join(tmpdir(), 'lcc-endurance-'));
  writeFileSync(join(home, 'lcc.toml'), 'bm.grace_ms = 0\nbm.min_free_disk_percent = 0\n');
  const source = await TestSource.listen(join(home, 'qm.sock'));
  const page = 'x'.repeat(4096);
  const site = createServer((_request, response) => response.end(page)).listen(0, '127.0.0.1');
  await once(site, 'listening');
  const url = `http://127.0.0.1:${(site.address() as AddressInfo).port}/`;
  const managed = [`--source=unix:${home}/qm.sock`, `--listen=unix:${home}/bm.sock`, '--machineid=m1'];
  const manager = startDaemon('lccd-bm', home, managed, HEAP);
  const fetching = [`--bm=unix:${home}/bm.sock`, `--slots=${SLOTS}`, '--allow-address=127.0.0.0/8'];
  const robot = startDaemon('lccbot', home, fetching, HEAP);
  try {
    await source.slots(SLOTS);
    let begun = 0;
    let failed = 0;
    /** One lane: fetches, has what it fetched deleted, goes on; each keeps a few requests on their way. */
    const lane = async (name: string, upTo: number) => {
      while (begun < upTo) {
        const result = await source.fetch({ lane: name, url: `${url}${++begun}` });
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
    for (const { child } of [robot, manager]) child.kill('SIGKILL');
    await Promise.all([robot.ended, manager.ended]);
    source.close();
    site.close();
    rmSync(home, { recursive: true, force: true });
  }
});
