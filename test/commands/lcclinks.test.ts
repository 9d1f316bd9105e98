import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { TestCache } from '../support/cache.js';
import { runCommand } from '../support/command.js';
import { lccpidb, newHome } from '../support/lccpidb.js';
import { shellSays } from '../support/lccq.js';

const SITE = 'http://example.org/';
let cache: TestCache;
beforeEach(() => {
  cache = new TestCache();
  cache.db.exec(`INSERT INTO pidb(pid, password, spider) VALUES (1, '', 1), (2, '', 0);
    INSERT INTO proots VALUES (1, '${SITE}'), (2, 'http://registered.example/')`);
});
afterEach(() => cache.close());

const lcclinks = (input: string, ...args: string[]) => lcclinksAt(cache.home, input, ...args);

function lcclinksAt(home: string, input: string, ...args: string[]) {
  const { status, stdout, stderr } = runCommand(home, 'lcclinks', args, { input });
  return { status, stdout, stderr, lines: stdout.split('\n').filter(line => line.startsWith('<url')) };
}

describe('lcclinks', () => {
  it('writes the links of what lccq names, as a stream that our tools read', () => {
    cache.put({
      curl: SITE,
      content: '<a href=a.html><a href="/?q=1&amp;b"><a href=http://registered.example/>',
    });
    cache.put({ curl: 'http://registered.example/', pid: 2, content: `<a href=${SITE}no>` });
    const { status, stdout, stderr } = shellSays(cache, 'lccq | lcclinks -v');
    assert.equal(status, 0, stderr);
    assert.equal(
      stdout,
      `<?lcc from="lcclinks" set="partial"?>
<url curl="${SITE}a.html" mimetype="*/*" ifabsent="yes" outofroot="drop" hops="1" pid="1"/>
<url curl="${SITE}?q=1&amp;b" mimetype="*/*" ifabsent="yes" outofroot="drop" hops="1" pid="1"/>
<?lcc end?>
`,
    );
    assert.equal(stderr, 'lcclinks: 1 page, 3 links in them, 2 sent\n');
  });

  it('begins with urls, and reports those that belong to nobody', () => {
    const { status, lines, stderr } = lcclinks(
      `${SITE}a#x\n\nhttp://registered.example/\n${SITE}b`,
      '--seeds',
    );
    assert.equal(status, 1);
    assert.deepEqual(
      lines.map(line => /curl="(.*?)".*hops="(.*?)"/.exec(line)?.slice(1)),
      [
        [`${SITE}a`, '0'],
        [`${SITE}b`, '0'],
      ],
    );
    assert.match(
      stderr,
      /^lcclinks: http:\/\/registered.example\/: below no root of a provider with spider=yes; .*\nlcclinks: 2 of 3 urls sent; not sent: 1\n$/,
    );
  });

  it('begins with the list of hosts that lccpidb made providers of', () => {
    const own = newHome();
    const list = join(cache.home, 'hosts.txt');
    writeFileSync(list, '# all of ours\n\nwww.example.org\r\n  example.net:8443 \nhttp://plain.example/\n');
    const added = lccpidb(own, 'add', `--sites=${list}`, '--pid-from=1000', '--spider=yes');
    assert.equal(added.status, 0, added.stderr);
    const { status, lines, stderr } = lcclinksAt(own, readFileSync(list, 'utf8'), '--seeds');
    assert.equal(status, 0, stderr);
    assert.deepEqual(
      [...lines.join('\n').matchAll(/curl="(.*?)".*pid="(.*?)"/g)].map(([, curl, pid]) => `${curl} ${pid}`),
      ['https://www.example.org/ 1000', 'https://example.net:8443/ 1001', 'http://plain.example/ 1002'],
    );
    assert.equal(stderr, '');
  });

  it('sends a url to begin with that failed before, and says which are not sent, and why', () => {
    cache.put({ curl: `${SITE}held`, content: 'x' });
    const nowS = Math.floor(Date.now() / 1000);
    cache.db.exec(`INSERT INTO known(pid, curl, code, asked, until) VALUES
      (1, '${SITE}gone', 404, ${nowS}, ${nowS + 3600}), (1, '${SITE}robots', 615, ${nowS}, ${nowS + 172_800}),
      (1, '${SITE}over', 404, 0, 1)`);
    const given = ['gone', 'over', 'held', 'robots', 'cal/9999/1/', 'example.org/x'];
    const input = given.map(name => `${name.includes('.') ? '' : SITE}${name}\n`).join('');
    const { status, lines, stderr } = lcclinks(input, '--seeds');
    assert.equal(status, 1);
    assert.deepEqual(
      lines.map(line => /curl="http:\/\/example.org\/(.*?)"/.exec(line)?.[1]),
      ['gone', 'over'],
    );
    const [robots, trap, scheme, ...rest] = stderr.trimEnd().split('\n');
    assert.match(
      robots ?? '',
      /robots: not sent, forbidden by robots.txt \(code 615\), counts until 20\d\d-.*; lccctl flush ends that/,
    );
    assert.match(trap ?? '', /9999\/1\/: not sent, it is a trap: calendar; see Traps in lcclinks\(1\)$/);
    assert.match(scheme ?? '', /example.org\/x: no http or https url; write https:/);
    assert.deepEqual(rest, [
      'lcclinks: 2 of 6 urls sent; asked for again that had failed: 1 with code 404; held already: 1; not sent: 3',
    ]);
    assert.equal(lcclinks(`${SITE}held\n`, '--seeds', '-q').stderr, '');
  });

  it('says that urls to begin with need --seeds', () => {
    for (const input of [`${SITE}\n`, `\n  HTTPS://example.org/\n`]) {
      const { status, stderr } = lcclinks(input);
      assert.equal(status, 65);
      assert.equal(
        stderr,
        'lcclinks: standard input: these are urls, no records of lccq; to begin with them give --seeds\n',
      );
    }
  });

  it('names the traps that links were left out as, also without -v', () => {
    cache.put({ curl: SITE, content: '<a href="cal/9999/1/"><a href="cal/9999/2/"><a href="a">' });
    const records = shellSays(cache, 'lccq').stdout;
    assert.equal(lcclinks(records).stderr, 'lcclinks: left out as traps (lcclinks(1)): calendar 2\n');
    assert.equal(lcclinks(records, '-q').stderr, '');
  });

  it('ends with 65 where its input was cut, and says what is missing', () => {
    const { status, stdout, stderr } = lcclinks('<?lcc from="lccq"?>\n<urls>\n');
    assert.equal(status, 65);
    assert.ok(!stdout.includes('<?lcc end?>'));
    assert.match(stderr, /^lcclinks: standard input:3:1: .*; it was cut off\n$/);
  });

  it('ends with 66 where there is no LCC', () => {
    const { status, stderr } = lcclinksAt(join(cache.home, 'nothing'), '');
    assert.equal(status, 66, stderr);
  });

  it('refuses options that make no sense on one line', () => {
    for (const option of ['--nofollow=some', '--max-hops=-1', '--max-hops=many']) {
      const { status, stderr } = lcclinks('', option);
      assert.equal(status, 64);
      assert.ok(stderr.startsWith(`lcclinks: ${option}: give `), stderr);
    }
  });

  it('names ten pages that it could not read to their end, and counts the others', () => {
    for (let i = 0; i < 13; i++)
      cache.put({ curl: `${SITE}${i}`, content: `${'<a href=x>'.repeat(3)}<a href=${i}>` });
    cache.db.close();
    const { stderr } = shellSays(
      cache,
      'lccq | lcclinks --config=<(printf "[links]\\nmax_page_links = 1\\n")',
    );
    const lines = stderr.trimEnd().split('\n');
    assert.equal(lines.length, 11, stderr);
    assert.equal(lines[10], 'lcclinks: 3 more like these; -v names them');
    assert.match(lines[0] ?? '', /more links than links.max_page_links; those found so far count$/);
  });
});
