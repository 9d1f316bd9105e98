/** One of the two databases is put back from its backup, while a site has registered since: which one is named, and what goes on. */
import assert from 'node:assert/strict';
import { copyFileSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { restore } from '../support/backup.js';
import { startRegistration, type RegistrationScene } from '../support/registration.js';

const FIRST = 100_000;
let scene: RegistrationScene;
before(async () => {
  scene = await startRegistration('mode = "open"\n');
});
after(() => scene?.end());

/** A directory of the site registers. @returns its number */
async function register(name: string): Promise<number> {
  const { lcc, site, server } = scene;
  const docroot = join(site.docroot, name);
  mkdirSync(docroot, { recursive: true });
  const pwdfile = join(lcc.dir, `password-${name}`);
  const options = `--server=${server} --url=${new URL(`${name}/`, site.url).href} --docroot=${docroot} --pwdfile=${pwdfile}`;
  const { status, stdout, stderr } = await lcc.sh(`lccregister new ${options} --timeout=60`);
  assert.equal(status, 0, stderr);
  const [, pid] = /--pid=(\d+)/.exec(stdout) ?? [];
  assert.ok(readFileSync(pwdfile, 'utf8').trim() !== '' && pid !== undefined, stdout);
  return Number(pid);
}

async function differences(): Promise<[number, string]> {
  const { status, stdout } = await scene.lcc.sh('lccrs list --differs');
  return [status, stdout];
}

describe('after one database was put back', () => {
  it('a provider that only lcc.db knows is named, and its number is not given again', async () => {
    const { lcc } = scene;
    assert.equal(await register('before'), FIRST);
    await lcc.run('lccrs backup "$LCC_HOME/rs-backup.db"');
    assert.equal(await register('since'), FIRST + 1);
    assert.deepEqual(await differences(), [0, '']);
    await lcc.stop();
    const path = join(lcc.home, 'rs/rs.db');
    for (const suffix of ['-wal', '-shm']) rmSync(path + suffix, { force: true });
    copyFileSync(join(lcc.home, 'rs-backup.db'), path);
    await lcc.start();
    const named = `${FIRST + 1} is in lcc.db only: it goes on delivering; lccpidb show --pid=${FIRST + 1}\n`;
    assert.deepEqual(await differences(), [1, named]);
    assert.equal(await register('next'), FIRST + 2);
    assert.deepEqual(await differences(), [1, named]);
  });

  it('a provider that only rs.db knows is named, and its site can register again', async () => {
    const { lcc } = scene;
    await lcc.stop();
    copyFileSync(join(lcc.home, 'lcc.db'), join(lcc.home, 'backup.db'));
    await lcc.start();
    const lost = await register('lost');
    await lcc.stop();
    restore(lcc);
    const { stderr } = await lcc.sh('lccfsck --repair --restored');
    assert.doesNotMatch(stderr, /older copy/);
    await lcc.start();
    const [status, named] = await differences();
    assert.equal(status, 1);
    assert.match(named, new RegExp(`^${lost} is in rs\\.db only: its site has to register again$`, 'm'));
    rmSync(join(lcc.dir, 'password-lost'));
    assert.ok((await register('lost')) > lost);
  });
});
