/** lccurld killed, flooded, and told nonsense. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import fc from 'fast-check';
import { EXIT } from '../../src/lib/errors.js';
import { formatDone, formatGet, type UrlLine } from '../../src/wire/spider-lines.js';
import { LineSpider } from '../support/line-spider.js';
import { until, within } from '../support/until.js';
import { endUrlServers, listOf, newHome, started, statusOfUrld, upTo } from '../support/url-server.js';

after(endUrlServers);

describe('lccurld', () => {
  it('killed again and again, loses no url', async () => {
    const home = newHome();
    const count = 3000;
    const file = listOf(home, count);
    const done = new Set<number>();
    let sent = 0;
    for (const livesMs of fc.sample(fc.integer({ min: 500, max: 1500 }), { numRuns: 4, seed: 17 })) {
      const daemon = await started(home, `--file=${file}`);
      const startMs = performance.now();
      const spider = new LineSpider(daemon.port);
      const held: UrlLine[] = [];
      spider.onUrl(line => void held.push(line));
      spider.say(formatGet(4));
      await until('the next kill', () => {
        for (const line of held.splice(0)) {
          spider.done(line);
          done.add(line.docId);
        }
        return performance.now() - startMs > livesMs;
      });
      assert.equal(await daemon.stop('SIGKILL'), 'SIGKILL');
      await spider.end();
      sent += spider.urls.length;
    }
    assert.ok(done.size < count, 'the kills come while there are urls');
    const last = await started(home, `--file=${file}`);
    const spider = new LineSpider(last.port);
    spider.work(50);
    assert.equal(await within('lccurld ends', last.ended), EXIT.ok);
    for (const { docId } of spider.urls) done.add(docId);
    // At each kill some were under way, or done and not yet known as that.
    const again = sent + spider.urls.length - count;
    assert.ok(again < 100, `${again} sent again`);
    assert.deepEqual(
      [...done].toSorted((a, b) => a - b),
      upTo(count),
    );
  });

  it('is not impressed by 10000 lines of nonsense, floods, or spiders that do not read', async () => {
    const home = newHome('stall_timeout_ms = 500\nmax_bad_lines = 1000000\n');
    const count = 3000;
    // More than the system takes for a spider that does not read.
    const list = listOf(home, count, count, `?${'x'.repeat(2000)}`);
    const daemon = await started(home, `--file=${list}`, '--timeout-update=300');
    const bytes = fc
      .uint8Array({ maxLength: 60 })
      .map(array => Buffer.from(array.map(byte => (byte === 10 ? 32 : byte))).toString('latin1'));
    const word = fc.constantFrom('GET', 'DONE', 'WORKING', 'ERR', ' ', '1', 'zz', '\0', '\r', '99999');
    const line = fc.oneof(
      bytes,
      fc.array(word, { maxLength: 6 }).map(words => words.join('')),
    );
    // A line that asks for urls is one of a spider, and no nonsense.
    const lines = fc.sample(line, { numRuns: 10_000, seed: 7 }).filter(text => !/^GET \d+\r?$/.test(text));
    const fuzzer = new LineSpider(daemon.port);
    const sent = [...lines, 'GET 1'].join('\n');
    fuzzer.socket.write(Buffer.from(`${sent}\n`, 'latin1'));
    // It is still served.
    await fuzzer.until(1);
    const bad = fuzzer.errs.length;
    assert.ok(bad > 5000 && bad < lines.length, String(bad));
    const { bad_lines, unknown_transactions } = await statusOfUrld(home);
    assert.equal(bad_lines, bad);
    assert.ok(Number(unknown_transactions) > 0);
    await fuzzer.end();
    // One that asks and never reads; one that floods with a line without an end; one with transactions that are not its own.
    const deaf = new LineSpider(daemon.port);
    deaf.socket.pause();
    deaf.say(formatGet(65_535).repeat(3));
    await daemon.logged('takes nothing of what it is sent');
    const endless = new LineSpider(daemon.port);
    const flood = new LineSpider(daemon.port);
    const pour = (spider: LineSpider, block: string) => {
      const more = () => {
        while (!spider.socket.destroyed && spider.socket.write(block));
      };
      spider.socket.on('drain', more);
      more();
    };
    pour(endless, 'x'.repeat(100_000));
    pour(flood, Array.from({ length: 5000 }, (_, i) => formatDone(i.toString(36))).join(''));
    const good = new LineSpider(daemon.port);
    good.work(20);
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    const all = new Set([...good.urls, ...deaf.urls].map(({ docId }) => docId));
    assert.ok(all.size >= count - deaf.urls.length);
    for (const spider of [deaf, endless, flood]) await spider.end();
  });

  it('sends one away that says nothing but nonsense, and one beyond the limit of spiders', async () => {
    const home = newHome('max_spiders = 2\nmax_bad_lines = 3\n');
    const daemon = await started(home, `--file=${listOf(home, 10)}`);
    const nonsense = new LineSpider(daemon.port);
    nonsense.say('x\ny\nz\nw\nv\n');
    await within('it is sent away', nonsense.closed);
    assert.deepEqual(nonsense.errs.slice(3), ['too many bad lines: the limit is 3 (spider.max_bad_lines)']);
    const two = [new LineSpider(daemon.port), new LineSpider(daemon.port)];
    for (const spider of two) {
      spider.say(formatGet(1));
      await spider.until(1);
    }
    const third = new LineSpider(daemon.port);
    await within('it is sent away', third.closed);
    assert.deepEqual(third.errs, [
      'too many connections of spiders, try again later: the limit is 2 (spider.max_spiders)',
    ]);
  });
});
