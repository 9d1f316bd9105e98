/** robots.txt of many origins, asked for once each and kept within bounds. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createLog } from '../../../src/lib/log.js';
import type { RobotsAnswer } from '../../../src/robots/fetcher.js';
import { RobotsGate, type RobotsOptions } from '../../../src/spider/url-server/robots-gate.js';
import { SpiderUrl } from '../../../src/spider/url-server/spider-url.js';
import { ManualClock } from '../../support/manual-clock.js';
import { settle } from '../../support/duplex.js';

const rules = (text: string): RobotsAnswer => ({
  kind: 'rules',
  content: Buffer.from(`User-agent: *\n${text}`),
});
const urlOf = (url: string) => new SpiderUrl({ number: 1, docId: 1, url, hostName: new URL(url).hostname });

function gateOf(answers: (url: string) => RobotsAnswer, more: Partial<RobotsOptions> = {}) {
  const clock = new ManualClock();
  const asked: string[] = [];
  const heard: string[] = [];
  const gate = new RobotsGate({
    ask: url => {
      asked.push(url);
      return Promise.resolve(answers(url));
    },
    token: 'testbot',
    maxAgeMs: 1000,
    tries: 3,
    retryMs: 100,
    maxOrigins: 100,
    maxBytes: 10_000,
    clock,
    log: createLog({ name: 'test', level: 'error', human: false, write: () => undefined }),
    heard: hostName => void heard.push(hostName),
    ...more,
  });
  return { gate, clock, asked, heard };
}

describe('the gate of robots.txt', () => {
  it('asks once for an origin, before the first of its urls, and again when that is too old', async () => {
    const { gate, clock, asked, heard } = gateOf(() => rules('Disallow: /private'));
    const [open, closed] = [urlOf('http://a.example/x'), urlOf('http://a.example/private/x')];
    assert.deepEqual([gate.judge(open), gate.judge(closed)], ['asked', 'asked']);
    await settle();
    assert.deepEqual(heard, ['a.example']);
    assert.deepEqual([gate.judge(open), gate.judge(closed)], ['go', 'forbidden by robots.txt']);
    // Another port, another origin.
    assert.equal(gate.judge(urlOf('http://a.example:8080/x')), 'asked');
    clock.advance(999);
    assert.equal(gate.judge(open), 'go');
    clock.advance(1);
    assert.equal(gate.judge(open), 'asked');
    assert.deepEqual(asked, [
      'http://a.example/robots.txt',
      'http://a.example:8080/robots.txt',
      'http://a.example/robots.txt',
    ]);
  });

  it('permits all where there is none, and nothing where that cannot be known, asked several times', async () => {
    const answers: RobotsAnswer[] = [
      { kind: 'trouble', why: 'x' },
      { kind: 'trouble', why: 'x' },
      { kind: 'none' },
    ];
    const lines: string[] = [];
    const log = createLog({
      name: 'test',
      level: 'info',
      human: false,
      write: line => void lines.push(line),
    });
    const answerOf = (url: string): RobotsAnswer =>
      url.includes('gone') ? { kind: 'trouble', why: 'status 503' } : (answers.shift() ?? { kind: 'none' });
    const { gate, clock, asked, heard } = gateOf(answerOf, { log });
    for (const url of ['http://slow.example/', 'http://gone.example/'])
      assert.equal(gate.judge(urlOf(url)), 'asked');
    for (let tries = 1; tries < 3; tries++) {
      await settle();
      assert.equal(asked.length, 2 * tries);
      assert.deepEqual(heard, []);
      clock.advance(100);
    }
    await settle();
    assert.equal(gate.judge(urlOf('http://slow.example/')), 'go');
    assert.equal(gate.judge(urlOf('http://gone.example/')), 'robots.txt cannot be read');
    assert.equal(asked.length, 6);
    const gone = lines.filter(line => line.includes('gone.example'));
    assert.equal(gone.length, 3);
    for (const line of gone.slice(0, 2))
      assert.match(
        line,
        /"robots.txt cannot be read, asked again later".*"reason":"status 503","after_ms":100/,
      );
    assert.match(gone[2] ?? '', /nothing of the site is fetched/);
  });

  it('asks no second time where that cannot help', async () => {
    const { gate, asked } = gateOf(() => ({
      kind: 'trouble',
      why: 'its address is forbidden',
      isLasting: true,
    }));
    gate.judge(urlOf('http://inside.example/'));
    await settle();
    assert.equal(gate.judge(urlOf('http://inside.example/')), 'robots.txt cannot be read');
    assert.equal(asked.length, 1);
  });

  it('asks a host that cannot be reached again after a tenth of the wait', async () => {
    const { gate, clock, asked } = gateOf(() => ({ kind: 'trouble', why: 'refused', isSilent: true }));
    gate.judge(urlOf('http://dead.example/'));
    await settle();
    clock.advance(9);
    await settle();
    assert.equal(asked.length, 1);
    clock.advance(1);
    await settle();
    assert.equal(asked.length, 2);
  });

  it('keeps rules of so many origins and bytes', async () => {
    const { gate, asked } = gateOf(
      url => rules(`Disallow: /${'x'.repeat(url.includes('large') ? 8000 : 10)}`),
      {
        maxOrigins: 10,
      },
    );
    for (let n = 0; n < 50; n++) {
      gate.judge(urlOf(`http://host${n}.example/`));
      await settle();
      assert.ok(gate.origins <= 10);
    }
    assert.equal(gate.judge(urlOf('http://host49.example/')), 'go');
    for (const name of ['large1', 'large2']) {
      gate.judge(urlOf(`http://${name}.example/`));
      await settle();
    }
    assert.equal(gate.origins, 1);
    assert.equal(gate.judge(urlOf('http://large2.example/')), 'go');
    assert.equal(gate.judge(urlOf('http://host49.example/')), 'asked');
    assert.equal(asked.length, 53);
  });

  it('knows the pause that a host wishes for, up to a minute', async () => {
    const { gate } = gateOf(url => rules(`Crawl-delay: ${url.includes('slow') ? 3600 : 2}`));
    for (const url of ['http://a.example/', 'http://slow.example/']) gate.judge(urlOf(url));
    await settle();
    assert.deepEqual(
      ['a.example', 'slow.example', 'b.example'].map(host => gate.delayMsOf(host)),
      [2000, 60_000, 0],
    );
  });
});
