/** lccurld, two lccspider and lccstored, each killed again and again: every document is in the store, whole. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { RecordReader } from '../../../src/wire/spider-record.js';
import { answer, rawServer } from '../../fetch/support.js';
import { Daemons, type Daemon } from '../../support/daemon.js';
import { ROOT } from '../../support/tree.js';
import { until } from '../../support/until.js';
import { endUrlServers, newHome } from '../../support/url-server.js';

const URLS = Number(process.env['LCC_TEST_SPIDER_URLS'] ?? 1000);

const daemons = new Daemons();
after(async () => {
  await daemons.end();
  await endUrlServers();
});

const documentOf = (docId: number) => Buffer.alloc((docId * 7919) % 30_000, `${docId} `);

/** What a store holds. */
function storedIn(dir: string): Map<number, { success: boolean; document: Buffer }> {
  const { stdout, status } = spawnSync(
    process.execPath,
    [join(ROOT, 'bin/lccrec'), '--records', `--store=${dir}`],
    { maxBuffer: 1_000_000_000 },
  );
  assert.equal(status, 0);
  const held = new Map<number, { success: boolean; document: Buffer }>();
  let pieces: Buffer[] = [];
  let head = { docId: 0, success: false };
  for (const part of new RecordReader().read(stdout)) {
    if (part.kind === 'head') head = part.record;
    else if (part.kind === 'body') pieces.push(part.bytes);
    else {
      held.set(head.docId, { success: head.success, document: Buffer.concat(pieces) });
      pieces = [];
    }
  }
  return held;
}

describe('the Spider, each of whose programs is killed again and again', () => {
  it('loses no document', async t => {
    const site = await rawServer((socket, request) =>
      socket.write(answer(documentOf(Number(/^GET \/(\d+)/.exec(request)?.[1])))),
    );
    const home = newHome();
    const at = (name: string) => `unix:${join(home, name)}`;
    const list = join(home, 'list');
    const lines = Array.from({ length: URLS }, (_, i) => `${i + 1}\t${site.url}${i + 1}\n`);
    writeFileSync(list, lines.join(''));
    const update = '--timeout-update=2000';
    const spider = (name: string) => () =>
      daemons.start('lccspider', home, [
        `--urlserver=${at('url.sock')}`,
        `--store=${at('store.sock')}`,
        `--name=${name}`,
        '--slots=8',
        '--allow-private',
        update,
      ]);
    const store = join(home, 'store');
    const starts: (() => Daemon)[] = [
      () =>
        daemons.start('lccurld', home, [
          `--listen=${at('url.sock')}`,
          `--file=${list}`,
          '--per-host=64',
          update,
        ]),
      () => daemons.start('lccstored', home, [`--listen=${at('store.sock')}`, `--dir=${store}`]),
      spider('a'),
      spider('b'),
    ];
    const running = starts.map(start => start());
    const isOver = () => running[0]?.child.exitCode === 0;
    const kills = starts.map(() => 0);
    let total = 0;
    while (!isOver()) {
      // At a random instant of the work, which stands still while it does: each program is, more than once.
      const wanted = site.requests.length + randomInt(Math.ceil(URLS / 50), Math.ceil(URLS / 10));
      await until('something is fetched, or all is done', () => isOver() || site.requests.length >= wanted);
      if (isOver()) break;
      const victim = total++ % starts.length;
      const killed = running[victim];
      const started = starts[victim];
      assert.ok(killed !== undefined && started !== undefined);
      // The URL server may have come to its end this moment.
      if ((await killed.stop('SIGKILL')) === 0) break;
      kills[victim] = (kills[victim] ?? 0) + 1;
      running[victim] = started();
    }
    t.diagnostic(
      `killed: URL server ${kills[0]}, store server ${kills[1]}, spiders ${kills[2]} and ${kills[3]}`,
    );
    assert.equal(await running[1]?.stop(), 0);
    const held = storedIn(store);
    for (let docId = 1; docId <= URLS; docId++) {
      const found = held.get(docId);
      assert.ok(found?.success === true, `document ${docId}`);
      assert.ok(found.document.equals(documentOf(docId)), `document ${docId}`);
    }
    assert.ok(Math.min(...kills) > 0, kills.join());
  });
});
