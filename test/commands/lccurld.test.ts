/** lccurld with spiders that the test plays. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { EXIT } from '../../src/lib/errors.js';
import { URLD_FIGURES } from '../../src/spider/url-server/figures.js';
import { formatDone, formatGet, formatWorking, type UrlLine } from '../../src/wire/spider-lines.js';
import { runCommand } from '../support/command.js';
import { LineSpider } from '../support/line-spider.js';
import { until, within } from '../support/until.js';
import {
  docsOf,
  endUrlServers,
  listOf,
  newHome,
  started,
  statusOfUrld,
  upTo,
} from '../support/url-server.js';

after(endUrlServers);

describe('lccurld', () => {
  it('has each url of a list fetched once, by whichever spider has room, and ends with 0', async () => {
    const home = newHome();
    const file = listOf(home, 500);
    const daemon = await started(home, `--file=${file}`);
    const spiders = [new LineSpider(daemon.port), new LineSpider(daemon.port)];
    for (const spider of spiders) spider.work(10);
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    await Promise.all(spiders.map(({ closed }) => within('its spiders are sent home', closed)));
    assert.deepEqual(docsOf(spiders.flatMap(({ urls }) => urls)), upTo(500));
    for (const { urls, errs } of spiders) {
      assert.ok(urls.length > 50, `${urls.length} of 500`);
      assert.deepEqual(errs, []);
    }
    for (const { docId, hostIp, hostName, url } of spiders[0]?.urls ?? [])
      assert.deepEqual(
        [hostIp, hostName, url],
        [undefined, `host${docId - 1}.example`, `http://${hostName}/${docId}`],
      );
    assert.equal(await daemon.failed, '');
    assert.equal(readFileSync(`${file}.done`, 'utf8').split('\n').length, 1 + 500 + 1);
    // Nothing is left to do.
    const again = runCommand(home, 'lccurld', ['--listen=127.0.0.1:0', `--file=${file}`]);
    assert.deepEqual([again.status, again.stdout], [EXIT.ok, '']);
    assert.match(
      again.stderr,
      /"every url of the list has ended before; remove its journal to have all fetched again","urls":500,"journal":"[^"]*urls\.txt\.done"/,
    );
  });

  it('reads its standard input, as it comes', async () => {
    const home = newHome();
    const daemon = await started(home, '-');
    const spider = new LineSpider(daemon.port);
    spider.work(5);
    daemon.child.stdin?.write('http://a.example/\n7\thttp://b.example/\n');
    await spider.until(2);
    daemon.child.stdin?.end('http://c.example/');
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    assert.deepEqual(docsOf(spider.urls), [1, 3, 7]);
  });

  it('is typed to by hand, with CRLF, and says what is wrong (B10)', async () => {
    const home = newHome();
    const daemon = await started(home, `--file=${listOf(home, 3)}`);
    const hand = new LineSpider(daemon.port);
    hand.say('HELLO\r\nGET x\r\nGET 0\r\n\r\nGET 2\r\n');
    const [first, second] = await hand.until(2);
    assert.deepEqual(hand.errs, [
      'HELLO: write GET, WORKING, DONE or ERR',
      'GET x: the number is 1 to 65535',
      'GET 0: the number is 1 to 65535',
      'an empty line',
    ]);
    hand.say(
      `WORKING ${first?.transId}\r\nERR hello\r\nDONE ${first?.transId}\r\nDONE ${second?.transId}\r\nGET 1\r\n`,
    );
    const third = (await hand.until(3))[2];
    hand.say(`DONE ${third?.transId}\r\n`);
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    assert.equal(hand.errs.length, 4);
  });

  it('sends no more urls than were asked for, nor more of a host than allowed, and skips a host that is busy', async () => {
    const home = newHome();
    const daemon = await started(home, `--file=${listOf(home, 400, 10)}`, '--per-host=2');
    const out = new Map<string, number>();
    const change = ({ hostName }: UrlLine, by: number) => {
      const now = (out.get(hostName) ?? 0) + by;
      out.set(hostName, now);
      return now;
    };
    const spiders = Array.from({ length: 3 }, () => new LineSpider(daemon.port));
    for (const spider of spiders) {
      let credit = 1;
      const held: UrlLine[] = [];
      spider.onUrl(line => {
        assert.ok(--credit >= 0, 'never more than credit');
        assert.ok(change(line, 1) <= 2, `too many of ${line.hostName}`);
        held.push(line);
      });
      spider.say(formatGet(1));
      // Half of what it holds is done at a time.
      const go = () => {
        for (const line of held.splice(0, Math.ceil(held.length / 2))) {
          const more = 1 + (line.docId % 3);
          credit += more;
          change(line, -1);
          spider.done(line, more);
        }
        if (!spider.socket.destroyed) setImmediate(go);
      };
      go();
    }
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    assert.deepEqual(docsOf(spiders.flatMap(({ urls }) => urls)), upTo(400));
  });

  it('waits between two urls of a host', async () => {
    const home = newHome();
    const daemon = await started(home, `--file=${listOf(home, 4, 2)}`, '--host-delay-ms=300');
    const spider = new LineSpider(daemon.port);
    const metMs: number[] = [];
    spider.onUrl(line => {
      metMs.push(performance.now());
      spider.done(line);
    });
    spider.say(formatGet(10));
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    const [, second = 0, third = 0] = metMs;
    assert.deepEqual(docsOf(spider.urls), [1, 2, 3, 4]);
    assert.ok(third - second > 250, `${third - second} ms`);
  });

  it('obeys robots.txt, which it asks for before the first url of a site', async () => {
    const asked: string[] = [];
    const site = createServer((request, response) => {
      asked.push(`${request.headers['user-agent']} ${request.url}`);
      response.end(
        'User-agent: *\nDisallow: /\n\nUser-agent: testspider\nDisallow: /private\nCrawl-delay: 0.2\n',
      );
    });
    after(() => site.close());
    await once(site.listen(0, '127.0.0.1'), 'listening');
    const root = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
    const home = newHome('user_agent = "testspider/2"\n');
    const file = join(home, 'urls.txt');
    const urls = [`${root}/1`, `${root}/private/2`, `${root}/3`];
    writeFileSync(file, `${urls.join('\n')}\n`);
    const daemon = await started(home, `--file=${file}`, '--robots', '--allow-private');
    const spider = new LineSpider(daemon.port);
    spider.work(10);
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.someRejected);
    assert.deepEqual(docsOf(spider.urls), [1, 3]);
    assert.equal(await daemon.failed, `2\t${urls[1]}\tforbidden by robots.txt\n`);
    assert.deepEqual(asked, ['testspider/2 /robots.txt']);
  });

  it('gives what a spider is silent about to another, says at last what has failed, and ends with 1', async () => {
    const home = newHome();
    const file = listOf(home, 3);
    appendFileSync(file, 'nonsense\n');
    const daemon = await started(home, `--file=${file}`, '--timeout-update=100', '--max-tries=2');
    const good = new LineSpider(daemon.port);
    // It says of the third url neither WORKING nor DONE, but gives other signs of life.
    const isThird = ({ docId }: UrlLine) => docId === 3;
    good.onUrl(line => void (isThird(line) || good.done(line)));
    good.say(formatGet(10));
    await until('the end', () => {
      if (!good.socket.destroyed) good.say(formatWorking('unknown'));
      return daemon.child.exitCode !== null;
    });
    assert.equal(await daemon.ended, EXIT.someRejected);
    assert.equal(await daemon.failed, '4\tnonsense\tnot a url\n3\thttp://host2.example/3\tsilent spiders\n');
    const third = good.urls.filter(isThird);
    assert.equal(third.length, 2);
    assert.notEqual(third[0]?.transId, third[1]?.transId);
    const again = runCommand(home, 'lccurld', ['--listen=127.0.0.1:0', `--file=${file}`]);
    assert.deepEqual([again.status, again.stdout], [EXIT.someRejected, await daemon.failed]);
    const counts = '"exit_status":1,"done":2,"failed":2,"ended_before":0,"failed_before":0';
    assert.ok(daemon.log.includes(`"event":"finished",${counts}`), daemon.log);
    assert.ok(again.stderr.includes('"done":0,"failed":0,"ended_before":4,"failed_before":2'), again.stderr);
  });

  it('gives what a spider has to another at once when its connection is closed', async () => {
    const home = newHome();
    const daemon = await started(home, `--file=${listOf(home, 50)}`, '--timeout-update=1h');
    const first = new LineSpider(daemon.port);
    first.say(formatGet(30));
    await first.until(30);
    first.say(
      first.urls
        .slice(0, 10)
        .map(({ transId }) => formatDone(transId))
        .join(''),
    );
    await until('ten are done', async () => (await statusOfUrld(home))['done'] === 10);
    first.socket.end();
    const second = new LineSpider(daemon.port);
    second.work(50);
    assert.equal(await within('lccurld ends', daemon.ended), EXIT.ok);
    assert.deepEqual(docsOf(second.urls), upTo(50).slice(10));
  });

  it('has a bounded part of a long list in memory', async () => {
    // And what one read of the list brings.
    const home = newHome('grace_ms = 0\n');
    const file = listOf(home, 100_000, 100_000);
    const daemon = await started(home, `--file=${file}`);
    const spider = new LineSpider(daemon.port);
    spider.say(formatGet(5));
    await spider.until(5);
    const { waiting, fetching, hosts, ...status } = await until('its window is full', async () => {
      const status = await statusOfUrld(home);
      return Number(status['waiting']) >= 10_000 && status;
    });
    assert.ok(Number(waiting) < 13_000, String(waiting));
    assert.deepEqual([fetching, hosts], [5, Number(waiting) + 5]);
    for (const field of Object.keys(URLD_FIGURES))
      assert.ok(field in { waiting, fetching, hosts, ...status }, field);
    assert.equal(await daemon.stop(), EXIT.ok);
  });

  it('told to stop, waits for what is under way, and goes on with the rest when it is started again', async () => {
    const home = newHome();
    const file = listOf(home, 20);
    const first = await started(home, `--file=${file}`);
    const spider = new LineSpider(first.port);
    spider.say(formatGet(10));
    await spider.until(10);
    first.child.kill('SIGTERM');
    await first.logged('"event":"stopping"');
    spider.say(spider.urls.map(({ transId }) => formatDone(transId) + formatGet(1)).join(''));
    assert.equal(await within('lccurld ends', first.ended), EXIT.ok);
    assert.equal(spider.urls.length, 10);
    const second = await started(home, `--file=${file}`);
    const other = new LineSpider(second.port);
    other.work(10);
    assert.equal(await within('lccurld ends', second.ended), EXIT.ok);
    assert.deepEqual(docsOf(other.urls), upTo(20).slice(10));
  });

  it('says on one line what it cannot begin with', () => {
    const home = newHome();
    const file = listOf(home, 1);
    const cases: [string[], number, RegExp][] = [
      [[], EXIT.usage, /--listen=ENDPOINT is missing/],
      [['--listen=127.0.0.1:0'], EXIT.usage, /give one of/],
      [['--listen=127.0.0.1:0', `--file=${file}`, '-'], EXIT.usage, /give one of/],
      [['--listen=127.0.0.1:0', file], EXIT.usage, /name a list with --file/],
      [
        ['--listen=127.0.0.1:0', `--file=${home}/nowhere`],
        EXIT.noinput,
        /nowhere: there is no such file or directory; check/,
      ],
      [['--listen=127.0.0.1:0', `--file=${file}`, '--max-tries=0'], EXIT.usage, /spider\.max_tries/],
      [['--listen=192.0.2.1:9020', `--file=${file}`], EXIT.config, /net\.allow_plain/],
    ];
    for (const [args, status, words] of cases) {
      const done = runCommand(home, 'lccurld', args);
      assert.equal(done.status, status, done.stderr);
      assert.match(done.stderr, words);
    }
    assert.ok(!existsSync(join(home, 'nowhere.done')));
  });
});
