/** Logins for sites are in the engine as the databases are. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, it } from 'node:test';
import { LOGINS } from '../../src/config/kept.js';
import { KeptLogins } from '../../src/keep/kept-logins.js';
import { FolderLedger } from '../support/folder-ledger.js';

const { signal } = new AbortController();
let home: string;
let ledger: FolderLedger;
let path: string;
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lcc-kept-logins-'));
  path = join(home, 'h1');
  ledger = new FolderLedger(join(home, 'engine'));
  ledger.init(LOGINS, 1);
});
afterEach(() => rmSync(home, { recursive: true }));

async function kept(at = path, epoch = 1): Promise<KeptLogins> {
  const state = await ledger.state(LOGINS);
  assert.ok(state !== undefined);
  return new KeptLogins({ path: at, ledger, epoch }, state);
}

/** The file as another machine restores it. */
async function restored(): Promise<string> {
  const other = join(home, 'h2');
  writeFileSync(other, '9 an:older one\n');
  await (await kept(other)).restore(signal);
  return readFileSync(other, 'utf8');
}

it('each change is there for another machine, and of the ones before nothing', async () => {
  const logins = await kept();
  await logins.shipped(signal);
  assert.equal(await restored(), '', 'no file');
  writeFileSync(path, '1 käthe:open sesame\n');
  await Promise.all([logins.shipped(signal), logins.shipped(signal)]);
  assert.equal(await restored(), '1 käthe:open sesame\n');
  const large = Array.from({ length: 60_000 }, (_, pid) => `${pid + 1} user:${'x'.repeat(40)}\n`).join('');
  writeFileSync(path, large);
  await logins.shipped(signal);
  assert.equal(await restored(), large);
  writeFileSync(path, '');
  await logins.shipped(signal);
  assert.equal(await restored(), '');
  assert.equal(ledger.logBytes(LOGINS), 0, 'no login is left in the engine');
  assert.equal(ledger.applied, 4);
});

it('a keeper that is started again ships what has changed meanwhile, and nothing else', async () => {
  writeFileSync(path, '1 u:p\n');
  await (await kept()).shipped(signal);
  await (await kept()).shipped(signal);
  assert.equal(ledger.applied, 1);
  writeFileSync(path, '1 u:q\n');
  await (await kept()).shipped(signal);
  assert.deepEqual([await restored(), ledger.applied], ['1 u:q\n', 2]);
});

it('a file that was removed comes back from the engine, readable by its owner alone', async () => {
  writeFileSync(path, '1 u:p\n');
  const logins = await kept();
  await logins.shipped(signal);
  rmSync(path);
  await logins.shipped(signal);
  assert.equal(readFileSync(path, 'utf8'), '1 u:p\n');
  assert.equal(statSync(path).mode & 0o777, 0o600);
});

it('once another machine owns the home nothing more is shipped, and who asks is refused', async () => {
  const logins = await kept();
  await logins.shipped(signal);
  ledger.claim(LOGINS);
  writeFileSync(path, '1 u:p\n');
  await assert.rejects(logins.shipped(signal), { code: 'try.later' });
  await assert.rejects(logins.shipped(signal), { code: 'try.later' }, 'asked again');
  assert.equal(await restored(), '');
});

it('what comes damaged from the engine is not put in the place of the file', async () => {
  writeFileSync(path, '1 u:p\n');
  await (await kept()).shipped(signal);
  const state = await ledger.state(LOGINS);
  assert.ok(state !== undefined);
  const damaged = new KeptLogins({ path, ledger, epoch: 1 }, { ...state, pos: '0'.repeat(32) });
  writeFileSync(path, '1 u:kept\n');
  await assert.rejects(damaged.restore(signal), { code: 'data.malformed' });
  assert.equal(readFileSync(path, 'utf8'), '1 u:kept\n');
});
