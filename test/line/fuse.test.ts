import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type DocsSite, noNginx, startDocs } from '../support/nginx.js';
import { type Lcc, startLcc } from '../support/lcc.js';

const PAGES = 20;

describe('a site that has lost most of its pages', { skip: noNginx }, () => {
  let docroot: string;
  let site: DocsSite;
  let lcc: Lcc;

  before(async () => {
    site = await startDocs();
    ({ docroot } = site);
    lcc = await startLcc(site.url, '[qm]\nfuse_urls = 5\n');
  });
  after(async () => {
    await lcc.remove();
    await site.stop();
  });

  const write = (from: number, to: number) => {
    for (let i = from; i < to; i++) writeFileSync(join(docroot, `p${i}.html`), `page ${i}`);
  };
  const lose = (from: number, to: number) => {
    for (let i = from; i < to; i++) rmSync(join(docroot, `p${i}.html`));
  };
  /** Delivers what lcccpstate finds. @returns what lcccp says of errors */
  const deliver = async (option = '') => {
    const sent = await lcc.sh(
      `file2url --docroot '${docroot}' --find '${docroot}' -type f | lcccpstate --statefile=state.txt --max-delete=100% ${option}` +
        ` | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`,
    );
    await lcc.idle();
    return sent;
  };
  const stored = async () => Number((await lcc.run('lccq --count --no-deleted')).trim());
  const held = async () => {
    const qm = (await lcc.daemons())['lccd-qm'];
    return [qm?.['held_sets'], qm?.['held_urls']];
  };

  it('keeps them in the LCC, and its next session is told so', async () => {
    write(0, PAGES);
    assert.equal((await deliver()).status, 0);
    assert.equal(await stored(), PAGES);
    lose(3, PAGES);
    assert.equal((await deliver('--full')).status, 0);
    assert.equal(await stored(), PAGES);
    assert.deepEqual(await held(), [1, PAGES - 3]);
    const told = await lcc.sh(`lcccp --uns=${lcc.uns} --pid=1 </dev/null`);
    assert.equal(told.status, 1);
    assert.match(
      told.stdout,
      new RegExp(
        `^<url curl="${site.url}" mimetype="\\*/\\*" code="205">17 of 20 urls would be removed by a set: held back`,
      ),
    );
  });

  it('removes them when the same full set is sent again', async () => {
    const again = await deliver('--full');
    assert.equal(again.status, 0);
    assert.equal(again.stdout, '');
    assert.equal(await stored(), 3);
    assert.deepEqual(await held(), [0, 0]);
  });

  it('removes what changes took away when the operator releases it, but not what came back meanwhile', async () => {
    write(3, PAGES);
    await deliver();
    assert.equal(await stored(), PAGES);
    lose(2, PAGES);
    await deliver();
    assert.deepEqual(await held(), [1, PAGES - 2]);
    write(10, 12);
    const told = await deliver();
    assert.match(told.stdout, /code="205"/);
    await lcc.run('lccctl release --pid=1');
    await lcc.idle();
    assert.equal(await stored(), 4);
    assert.deepEqual(await held(), [0, 0]);
  });

  it('keeps them for good when the operator discards what was held', async () => {
    write(0, PAGES);
    await deliver();
    lose(0, PAGES - 1);
    await deliver();
    await lcc.run('lccctl discard');
    await lcc.idle();
    assert.deepEqual(await held(), [0, 0]);
    assert.equal(await stored(), PAGES);
  });
});
