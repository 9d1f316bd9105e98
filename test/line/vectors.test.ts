/** A page that a table of vectors has, whose file is gone from the store: told, let go of, and back after the repair. */
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type Lcc, startLcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { sqliteRows, VECTORS } from '../support/vector-table.js';

const page = (words: string) => `<title>T</title><p>${words}`;

describe('a page whose file is gone', () => {
  let site: TestSite;
  let lcc: Lcc;
  before(async () => {
    site = await TestSite.listen();
    lcc = await startLcc(site.urlOf('/'));
    await lcc.publish(site, { 'a.html': page('one'), 'b.html': page('two') });
  });
  after(async () => {
    await lcc?.remove();
    site?.close();
  });

  const load = () =>
    lcc.sh(
      `lccq --batch=50 --stay --cursor=v.cursor --format=chunks -- node ${join(VECTORS, 'vectors.mjs')} v.db`,
    );
  const texts = () => sqliteRows(join(lcc.dir, 'v.db')).map(({ text }) => text);

  it('is told, its old pieces go, and they are back after lccfsck --repair', async () => {
    assert.equal((await load()).status, 0);
    assert.deepEqual(texts(), ['T\none', 'T\ntwo']);
    await lcc.publish(site, { 'a.html': page('one'), 'b.html': page('three') });
    const ofB = 'lccq --format=jsonl --fields=file --prefix=$ROOT';
    const { file } = JSON.parse(await lcc.run(ofB.replace('$ROOT', `${lcc.root}b`))) as { file: string };
    rmSync(file);

    const told = await lcc.sh(`lccq --format=jsonl --markdown --fields=curl --prefix=${lcc.root}b`);
    const { markdown, problem } = JSON.parse(told.stdout) as { markdown: null; problem: string };
    assert.deepEqual([told.status, markdown, problem], [1, null, 'its content is missing']);
    const gone = await load();
    assert.equal(gone.status, 1, gone.stderr);
    assert.match(gone.stderr, /b\.html: .*is missing; stop lccd and run lccfsck --repair/);
    assert.deepEqual(texts(), ['T\none']);
    assert.equal((await load()).status, 0, 'it is told once');

    await lcc.stop();
    const repaired = await lcc.sh('lccfsck --repair');
    assert.equal(repaired.status, 0, `${repaired.stdout}${repaired.stderr}`);
    await lcc.start();
    await lcc.idle();
    const back = await load();
    assert.equal(back.status, 0, back.stderr);
    assert.deepEqual(texts(), ['T\none', 'T\nthree']);
  });
});
