/** ht://Dig changes URLs before it asks for them; what it is fed under must be found all the same. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { ROOT } from '../support/tree.js';
import { ADAPTERS, missing } from './adapters.js';

/** Browse URL → what a search shows. */
const SHOWN: Readonly<Record<string, string>> = {
  'http://h.example/dir/index.html': 'http://h.example/dir/index.html',
  'http://h.example/part.html#middle': 'http://h.example/part.html',
  'http://h.example:80/port.html': 'http://h.example/port.html',
  'https://h.example:443/tls.html': 'https://h.example/tls.html',
  'http://H.Example/Capitals.html': 'http://h.example/Capitals.html',
  'HTTP://h.example/scheme.html': 'http://h.example/scheme.html',
  'http://h.example/%7Euser/tilde.html': 'http://h.example/~user/tilde.html',
  'http://h.example/%7euser/small-tilde.html': 'http://h.example/%7euser/small-tilde.html',
  'http://h.example/two words.html': 'http://h.example/two%20words.html',
  'http://h.example/double//slash.html': 'http://h.example/double//slash.html',
  'http://h.example/a/./b/../dots.html': 'http://h.example/a/dots.html',
  'http://h.example/?only=query': 'http://h.example/?only=query',
  'http://h.example:8080/other-port.html': 'http://h.example:8080/other-port.html',
};
const LEFT_OUT = ['http://[::1]/v6.html', 'http://user:secret@h.example/login.html'];

const adapter = ADAPTERS.find(({ name }) => name === 'htdig');
assert.ok(adapter);

describe('ht://Dig', { skip: missing(adapter) }, () => {
  let site: TestSite;
  const browseUrls = [...Object.keys(SHOWN), ...LEFT_OUT];
  let lcc: Lcc;
  let dir: string;

  const announce = async (attributes: (n: number) => string) => {
    await lcc.announce(browseUrls.map((_, n) => urlTag(`${n}.html`, ` ${attributes(n)}`)));
    await lcc.idle();
  };
  const update = () => lcc.sh(`'${join(ROOT, 'examples/htdig/update')}' '${dir}'`);
  const found = async (word: string) => {
    const { stdout } = await lcc.sh(
      `/usr/lib/cgi-bin/htsearch -c '${dir}/htdig.conf' 'words=${word};format=builtin-short;matchesperpage=100'`,
    );
    return [...new Set(stdout.match(/https?:\/\/h\.example[^\s"<]*/g))].toSorted();
  };

  before(async () => {
    site = await TestSite.listen();
    lcc = await startLcc(`${site.url}/`);
    dir = join(lcc.dir, 'htdig');
    mkdirSync(dir);
    for (const n of browseUrls.keys())
      site.pages.set(`/${n}.html`, `<title>${n}</title><p>walrus number${n}</p>`);
    await announce(n => `burl="${browseUrls[n]}"`);
  });
  after(async () => {
    await lcc.remove();
    site.close();
  });

  it('finds each page whatever the form of its browse URL, and reports those it cannot ask for', async () => {
    const { status, stderr } = await update();
    assert.equal(status, 1);
    assert.deepEqual(
      stderr.trimEnd().split('\n').toSorted(),
      LEFT_OUT.map(url => `asked-as: ${url}: ht://Dig cannot ask for this URL; it is left out`),
    );
    for (const [n, shown] of Object.values(SHOWN).entries())
      assert.deepEqual(await found(`number${n}`), [shown], browseUrls[n]);
    assert.deepEqual(await found('walrus'), Object.values(SHOWN).toSorted());
  });

  it('forgets each of them when it is deleted', async () => {
    await announce(() => 'op="delete"');
    assert.equal((await update()).status, 1);
    assert.deepEqual(await found('walrus'), []);
  });
});
