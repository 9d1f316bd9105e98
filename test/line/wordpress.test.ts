/**
 * WordPress as Debian has it, without a plugin: its Update Services name `/ping` of an LCC, and a post that is published or edited is
 * held seconds later.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { buffer } from 'node:stream/consumers';
import { openLcc } from '../../src/index.js';
import { readWeblogPing } from '../../src/rs/feeds/weblog-ping.js';
import { freePort } from '../support/free-port.js';
import { startLcc, type Lcc } from '../support/lcc.js';
import { until } from '../support/until.js';
import { noWordPress, WordPress } from '../support/wordpress.js';

const MOST_ANSWER_MS = 300;
const MOST_HELD_MS = 5000;
/** Between two requests for a feed that pings prompt. */
const PROMPT_MS = 60_000;

describe('WordPress without a plugin', { skip: noWordPress }, () => {
  let site: WordPress;
  let lcc: Lcc;
  /** Pings on their way: what each said, how it was answered, and how long that took. */
  const pings: { body: Buffer; answer: string; ms: number }[] = [];
  const between = createServer((asked, answer) => {
    void buffer(asked).then(async body => {
      const begunMs = performance.now();
      const said = await fetch(`http://127.0.0.1:${port}/ping`, {
        method: 'POST',
        body,
        headers: {
          'content-type': asked.headers['content-type'] ?? '',
          'user-agent': asked.headers['user-agent'] ?? '',
        },
      });
      const text = await said.text();
      pings.push({ body, answer: text, ms: performance.now() - begunMs });
      answer.writeHead(said.status, { 'content-type': said.headers.get('content-type') ?? '' }).end(text);
    });
  });
  let port = 0;

  before(async () => {
    site = await WordPress.start();
    port = await freePort();
    between.listen(0, '127.0.0.1');
    await once(between, 'listening');
    const at = `http://127.0.0.1:${(between.address() as AddressInfo).port}/ping`;
    lcc = await startLcc(
      site.url,
      `[rs]\nlisten = ["127.0.0.1:${port}"]\nurl = "http://127.0.0.1:${port}/"\nports = ["${site.port}"]\n`,
    );
    await lcc.run(`lccrs feed add --pid=1 '${site.feed}'`);
    // What is there already.
    await until('the feed is read', async () => /read \d+ s ago/.test(await lcc.run('lccrs feed list')));
    await lcc.idle();
    await site.pings(at);
  });
  after(async () => {
    between.closeAllConnections();
    between.close();
    await lcc.remove();
    await site.stop();
  });

  /** The readable page of a post, as it is held; '' where it is not. */
  async function held(id: number): Promise<string> {
    const reading = openLcc({ home: lcc.home });
    try {
      for await (const { op, curl, file } of reading.changes())
        if (op !== 'delete' && file !== null && curl === `${site.url}?p=${id}`)
          return readFileSync(file, 'utf8');
      return '';
    } finally {
      reading.close();
    }
  }

  /** A visitor comes, whose visit has WordPress send what it wants to; then it is held soon. */
  async function holds(id: number, words: string): Promise<number> {
    const begunMs = performance.now();
    const count = pings.length;
    await site.get('');
    await until('it pings', () => pings.length > count);
    const pingedMs = performance.now();
    await until(`the post with "${words}" is held`, async () => (await held(id)).includes(words));
    assert.ok(pingedMs >= begunMs);
    return performance.now() - pingedMs;
  }

  it('has a post that is published, and one that is edited, held within 5 s; its ping is answered within 300 ms', async () => {
    const id = await site.publish('First', 'words of the first day');
    const publishedMs = await holds(id, 'words of the first day');
    const [ping] = pings;
    assert.ok(ping);
    assert.match(ping.body.toString(), /<methodName>weblogUpdates\.extendedPing<\/methodName>/);
    assert.deepEqual(readWeblogPing(ping.body), [site.url, site.feed]);
    assert.match(ping.answer, /<name>flerror<\/name><value><boolean>0/);

    // One request in 60 s is what pings may cause.
    const publishedAtMs = performance.now();
    await until('a minute has passed', () => performance.now() - publishedAtMs > PROMPT_MS);
    await site.edit(id, 'words of the second day');
    const editedMs = await holds(id, 'words of the second day');
    assert.ok(publishedMs < MOST_HELD_MS, `published: ${publishedMs} ms`);
    assert.ok(editedMs < MOST_HELD_MS, `edited: ${editedMs} ms`);
    const slowest = Math.max(...pings.map(({ ms }) => ms));
    assert.ok(slowest < MOST_ANSWER_MS, `answered in ${slowest} ms`);
    const list = await lcc.run('lccrs feed list');
    assert.match(list, /\d+ items\n$/);
  });
});
