/** The recipe of lccfsck(8) for files without rows on another machine, as it is printed there. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { test } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { NamesDb } from '../../src/db/names/names.js';
import { fileIdOf } from '../../src/db/names/naming.js';
import { examples, pageOf } from '../support/mdoc.js';
import { ROOT } from '../support/tree.js';
import { Lcc, urlTag } from '../support/lcc.js';
import { TestSite } from '../support/site.js';

test('files without rows on another machine are found and removed with a copy of lcc.db, and nothing else', async () => {
  const site = await TestSite.listen();
  const pages = ['a', 'b', 'c'];
  for (const page of pages) site.pages.set(`/${page}`, page);
  const lcc = new Lcc(`${site.url}/`);
  // The other machine: it has the store and no lcc.db.
  const m2 = mkdtempSync(join(tmpdir(), 'lcc-m2-'));
  const own = join(lcc.home, 'store');
  const store = join(m2, 'store');
  try {
    lcc.configure('bm.machine_id = "m2"');
    await lcc.addProvider();
    await lcc.start();
    const urls = pages.map(page => urlTag(page));
    await lcc.deliver('partial', urls);
    await lcc.idle();
    await lcc.stop();
    const before = await lcc.holdings();
    assert.equal(before.rows.length, pages.length);
    renameSync(own, store);

    // Complete, and its result was never noted.
    const names = new NamesDb(join(store, 'names.db'));
    const [name] = names.reserve(1);
    names.close();
    assert.ok(name !== undefined);
    const orphan = fileIdOf(name);
    mkdirSync(dirname(join(store, orphan)), { recursive: true });
    writeFileSync(join(store, orphan), 'nobody asked');

    mkdirSync(join(m2, 'bin'));
    writeFileSync(join(m2, 'bin/scp'), `#!/bin/sh\ncp "$QM"/lcc.db* "$2"\n`);
    chmodSync(join(m2, 'bin/scp'), 0o755);
    const page = pageOf('lccfsck');
    assert.ok(page !== undefined);
    const [recipe = ''] = examples(page);
    assert.match(recipe, /^scp 'lcc:/m);
    const { stdout, stderr } = spawnSync('sh', ['-ec', recipe], {
      cwd: m2,
      encoding: 'utf8',
      env: {
        ...process.env,
        LCC_HOME: m2,
        LCC_CONFIG: '',
        QM: lcc.home,
        PATH: [join(m2, 'bin'), join(ROOT, 'bin'), process.env['PATH'] ?? ''].join(delimiter),
      },
    });
    assert.equal(stdout, `orphan\t${orphan}\tno row points to it\trepaired\n`, stderr);
    assert.equal(existsSync(join(store, orphan)), false);
    assert.equal(existsSync(join(m2, 'check')), false);

    renameSync(store, own);
    assert.deepEqual(await lcc.holdings(), before);
    await lcc.start();
    site.pages.set('/a', 'new');
    await lcc.deliver('partial', urls.slice(0, 1));
    await lcc.idle();
    await lcc.stop();
    assert.equal(await lcc.run('lccfsck'), '');
  } finally {
    site.close();
    await lcc.remove();
    rmSync(m2, { recursive: true, force: true });
  }
});

test('a machine that never comes back is forgotten by its id alone: its rows are fetched again, the store here is not touched', async () => {
  const site = await TestSite.listen();
  const pages = ['a', 'b', 'c'];
  for (const page of pages) site.pages.set(`/${page}`, page);
  const lcc = new Lcc(`${site.url}/`);
  try {
    lcc.configure('bm.machine_id = "m1"');
    await lcc.addProvider();
    await lcc.start();
    await lcc.deliver(
      'partial',
      pages.map(page => urlTag(page)),
    );
    await lcc.idle();
    await lcc.stop();
    const db = openDatabase(join(lcc.home, 'lcc.db'));
    db.prepare("UPDATE lccurl SET fetched_machineid = 'm2' WHERE curl LIKE '%/b'").run();
    db.close();
    const before = await lcc.holdings();
    const forget = 'lccfsck --repair --store-lost --machineid=m2';
    assert.match(await lcc.run(forget), /^missing-file\t[^\n]*\/b\)\t[^\n]*\trepaired\n$/);
    assert.equal((await lcc.holdings()).files, before.files, 'no file of this machine has gone');
    await lcc.start();
    await lcc.idle();
    await lcc.stop();
    const { rows } = await lcc.holdings();
    assert.equal(rows.length, pages.length);
    assert.equal(await lcc.run(forget), '', 'nothing is left of it');
  } finally {
    site.close();
    await lcc.remove();
  }
});
