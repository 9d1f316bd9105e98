import assert from 'node:assert/strict';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc } from '../support/lcc.js';
import { readProjectFile } from '../support/tree.js';
import { type DocsSite, noNginx, startDocs } from '../support/nginx.js';

describe('an LCC that follows another', { skip: noNginx }, () => {
  let docroot: string;
  let site: DocsSite;
  let first: Lcc;
  let second: Lcc;

  before(async () => {
    site = await startDocs();
    ({ docroot } = site);
    first = await startLcc(site.url);
    second = await startLcc(site.url);
  });
  after(async () => {
    await Promise.all([first?.remove(), second?.remove()]);
    await site?.stop();
  });

  /** The site's provider tells the first LCC. */
  async function publish(): Promise<void> {
    const files = `file2url --docroot=${docroot} --find ${docroot} -type f`;
    await first.run(
      `${files} | lcccpstate --statefile=state | lcccp -q --uns=${first.uns} --pid=1 --urlprefix=${site.url}`,
    );
    await first.idle();
  }

  /** The line of the manual: the first LCC is a provider of the second. */
  const republish = (uns = second.uns) =>
    first.sh(`lccq --cursor=mirror.cursor -- lcccp -q --uns=${uns} --pid=1`, {
      LCC_PWD: second.env['LCC_PWD'],
    });

  const held = async (lcc: Lcc) =>
    (await lcc.run('lccq --format=tsv --fields=curl,mimetype,burl,md5,len,mtime')).split('\n').sort();
  const cursor = () => readFileSync(join(first.dir, 'mirror.cursor'), 'utf8');

  it('gets what it holds, fetched from the site, under the same browse URLs', async () => {
    for (const name of ['a.html', 'b&c.html', 'd é.txt'])
      writeFileSync(join(docroot, name), `content of ${name}`);
    await publish();
    await site.forgetRequests();
    const { status, stderr } = await republish();
    assert.equal(status, 0, stderr);
    await second.idle();
    assert.deepEqual(await held(second), await held(first));
    assert.equal((await held(second)).length, 4);
    assert.equal((await site.requests()).length, 3, 'each file once, from the site itself');
  });

  it('gets additions, changes and deletions, and nothing else', async () => {
    writeFileSync(join(docroot, 'a.html'), 'another content');
    writeFileSync(join(docroot, 'new.html'), 'new content');
    rmSync(join(docroot, 'b&c.html'));
    await publish();
    await site.forgetRequests();
    assert.equal((await republish()).status, 0);
    await second.idle();
    assert.deepEqual(await held(second), await held(first));
    assert.deepEqual((await site.requests()).map(line => line.split(' ')[1] ?? '').sort(), [
      '/a.html',
      '/new.html',
    ]);
    await site.forgetRequests();
    const before = cursor();
    assert.equal((await republish()).status, 0);
    assert.equal(cursor(), before);
    assert.deepEqual(await site.requests(), []);
  });

  it('misses nothing when it was away: the cursor stays until it has accepted', async () => {
    const before = cursor();
    writeFileSync(join(docroot, 'while-away.html'), 'told later');
    await publish();
    const away = await republish(`unix:${second.dir}/nobody.sock`);
    assert.notEqual(away.status, 0);
    assert.equal(cursor(), before);
    assert.equal((await republish()).status, 0);
    await second.idle();
    assert.deepEqual(await held(second), await held(first));
    assert.notEqual(cursor(), before);
  });

  it('gets all of it by the line of the guide when it wants a full set, and loses nothing by another', async () => {
    await second.run('lccctl want-full --pid=1');
    rmSync(join(docroot, 'a.html'));
    writeFileSync(join(docroot, 'late.html'), 'late content');
    await publish();
    const told = await republish();
    assert.equal(told.status, 0);
    assert.match(told.stderr, /^lcccp: the UNS wants a full set; .*: lccq -- lcccp --set=full …\n$/);
    await second.idle();
    assert.deepEqual(await held(second), await held(first));

    writeFileSync(join(docroot, 'later.html'), 'later content');
    await publish();
    const before = cursor();
    const wrong = await first.sh(
      `lccq --cursor=mirror.cursor -- lcccp -q --set=full --uns=${second.uns} --pid=1`,
      { LCC_PWD: second.env['LCC_PWD'] },
    );
    assert.equal(wrong.status, 64);
    assert.match(
      wrong.stderr,
      /^lcccp: --set=full: standard input is only a part of what is held \(since="\d+"\)/,
    );
    assert.equal(cursor(), before);

    // What the second has lost comes back.
    const lost = `<url curl="${site.url}new.html" mimetype="text/html" op="delete"/>`;
    await second.run(`echo '${lost}' | lcccp -q --uns=${second.uns} --pid=1`);
    await second.idle();
    assert.ok(!(await held(second)).some(row => row.includes('new.html')));
    const [line] = /^ {4}lccq -- lcccp --set=full .*$/m.exec(readProjectFile('docs/guide/mirror.md')) ?? [];
    assert.ok(line !== undefined);
    writeFileSync(join(first.dir, 'password'), `${second.env['LCC_PWD']}\n`);
    const full = await first.sh(line.replace('tls:second.example.org:9443', second.uns));
    assert.equal(full.status, 0, full.stderr);
    await second.idle();
    assert.deepEqual(await held(second), await held(first));
    assert.match(await second.run('lccpidb show --pid=1'), /^full set wanted\W+no$/m);
    assert.equal(cursor(), before, 'the next run tells the changes as ever');
    const { status, stderr } = await republish();
    assert.deepEqual({ status, stderr }, { status: 0, stderr: '' });
    await second.idle();
    assert.deepEqual(await held(second), await held(first));
  });
});
