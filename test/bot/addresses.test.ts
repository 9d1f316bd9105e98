import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { newFolder } from '../fetch/support.js';
import { FORBIDDEN, type Report } from './world/world.js';

const NEW_WORLD = ['--net', '--mount'];
const missing =
  process.env['CI'] !== 'true' &&
  spawnSync('unshare', [...NEW_WORLD, 'ip', 'link', 'set', 'lo', 'up']).status !== 0 &&
  'namespaces take root, unshare and ip';

/** For a url that nobody answers; whatever is answered may take its time. */
const SHORT_MS = 4000;

/** What a real robot does in a world where the forbidden addresses can be reached. */
async function visit(
  urls: readonly string[],
  args: readonly string[] = [],
  connectTimeoutMs = 120_000,
): Promise<Report> {
  const dir = newFolder();
  writeFileSync(join(dir, 'resolv.conf'), 'nameserver 127.0.0.1\noptions attempts:1 timeout:20\n');
  writeFileSync(join(dir, 'nsswitch.conf'), 'hosts: dns\n');
  writeFileSync(join(dir, 'lcc.toml'), `[bot]\nconnect_timeout_ms = ${connectTimeoutMs}\n`);
  const script = `ip link set lo up
    mount --bind ${dir}/resolv.conf "$(readlink -f /etc/resolv.conf)"
    mount --bind ${dir}/nsswitch.conf /etc/nsswitch.conf
    exec "$@"`;
  const world = fileURLToPath(new URL('./world/world.js', import.meta.url));
  const child = spawn('unshare', [...NEW_WORLD, 'sh', '-ec', script, 'sh', process.execPath, world]);
  const complaints = text(child.stderr);
  child.stdin.end(JSON.stringify({ urls, args: [`--config=${dir}/lcc.toml`, ...args] }));
  try {
    return (await json(child.stdout)) as Report;
  } catch (error) {
    throw new Error(await complaints, { cause: error });
  }
}

const literal = (address: string) => (address.includes(':') ? `[${address}]` : address);

describe('a robot and the addresses of its world', { skip: missing }, () => {
  const verdicts: [url: string, expected: string | number][] = [
    ...FORBIDDEN.map((address): [string, number] => [`http://${literal(address)}/`, 610]),
    ...FORBIDDEN.map((address): [string, number] => [
      `http://site.test/to/${encodeURIComponent(`http://${literal(address)}/`)}`,
      610,
    ]),
    ...['10.1', '167772161', '0xa.1', '012.0.0.1', '[::ffff:10.0.0.1]', '[::ffff:a00:1]', '0'].map(
      (host): [string, number] => [`http://${host}/`, 610],
    ),
    ['http://loopback.test/', 610],
    ['http://private.test/', 610],
    ['http://metadata.test/', 610],
    ['http://alias.test/', 610],
    ['http://mapped.test/', 610],
    ['http://nat64.test/', 610],
    ['http://sixtofour.test/', 610],
    ['http://local.test/', 610],
    ['http://site.test/to/http%3A%2F%2Falias.test%2F', 610],
    // The same name, from one fetch to the next.
    ['http://turns.test/first', 'ok'],
    ['http://turns.test/second', 610],
    ['http://mixed.test/', 'ok'],
    ['http://hundred-private.test/', 610],
    ['http://hundred-and-one.test/', 'ok'],
    ['http://hundred-dead.test/', 602],
    ['http://9.8.7.6/', 603],
    ['http://hundred-holes.test/', 603],
    ['http://nothing.test/', 601],
    ['http://failing.test/', 601],
    ['http://silent.test/', 603],
  ];

  it('connects to none that is forbidden, however it is named', async () => {
    for (const isAnswered of [true, false]) {
      const some = verdicts.filter(([, expected]) => (expected !== 603) === isAnswered);
      const { results, touched } = await visit(
        some.map(([url]) => url),
        [],
        isAnswered ? undefined : SHORT_MS,
      );
      assert.deepEqual(
        results.map(({ verdict, message }, i) => [
          some[i]?.[0],
          verdict,
          verdict === some[i]?.[1] || message,
        ]),
        some.map(([url, expected]) => [url, expected, true]),
      );
      assert.deepEqual(touched, []);
    }
  });

  it('would reach them if it tried: allowed ones it does', async () => {
    const urls = FORBIDDEN.map(address => `http://${literal(address)}/`);
    const { results, touched } = await visit(urls, ['--allow-address=0.0.0.0/0', '--allow-address=::/0']);
    assert.deepEqual(
      results.map(({ content }) => content),
      urls.map(() => 'secret'),
    );
    assert.deepEqual(touched.sort(), [...FORBIDDEN].sort());
  });

  describe('whatever the url looks like', () => {
    const long = `/${'a'.repeat(7000)}`;
    const pages: [url: string, content: string][] = [
      ['http://1.2.3.4/a', '1.2.3.4 on 80: /a'],
      ['http://1.2.3.4:8080/a', '1.2.3.4:8080 on 8080: /a'],
      ['http://[2001:470::1]/six', '[2001:470::1] on 80: /six'],
      ['http://six.test/', 'six.test on 80: /'],
      ['http://both.test/', 'both.test on 80: /'],
      // Virtual hosts, over the same address.
      ['http://site.test/?a=1&b=%20c', 'site.test on 80: /?a=1&b=%20c'],
      ['http://OTHER.test:80', 'other.test on 80: /'],
      ['http://other.test:8080/x#part', 'other.test:8080 on 8080: /x'],
      ['http://xn--bcher-kva.test/', 'xn--bcher-kva.test on 80: /'],
      ['http://b\u00fccher.test/stra\u00dfe', 'xn--bcher-kva.test on 80: /stra%C3%9Fe'],
      ['http://site.test/caf%E9/%C3%A9/%00?%ff', 'site.test on 80: /caf%E9/%C3%A9/%00?%ff'],
      ['http://site.test/a%2Fb;c=d/~e', 'site.test on 80: /a%2Fb;c=d/~e'],
      [`http://site.test${long}`, `site.test on 80: ${long}`],
      ['http://six.test/to/http%3A%2F%2Fother.test%3A8080%2F', 'other.test:8080 on 8080: /'],
    ];
    let report: Report;
    before(async () => {
      report = await visit(pages.map(([url]) => url));
    });
    pages.forEach(([url, content], i) => {
      it(`fetches ${url.slice(0, 60)}`, () => {
        assert.equal(report.results[i]?.content, content, report.results[i]?.message);
      });
    });
  });
});
