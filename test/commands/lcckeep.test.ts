import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { addProvider } from '../../src/db/providers/pidb.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { runCommand } from '../support/command.js';
import { Daemons } from '../support/daemon.js';
import { Engine, noEngine } from '../support/engine.js';

const started = noEngine === false ? await Engine.start() : undefined;
const dir = mkdtempSync(join(tmpdir(), 'lcc-lcckeep-'));
const daemons = new Daemons();
after(async () => {
  for (const daemon of daemons.all) await daemon.stop();
  rmSync(dir, { recursive: true });
});

function homeOf(name: string, toml: string): string {
  const home = join(dir, name);
  mkdirSync(home);
  writeFileSync(join(home, 'lcc.toml'), toml);
  return home;
}

it('is of no use to an LCC without an engine, and says so', () => {
  const { status, stderr } = runCommand(homeOf('alone', ''), 'lcckeep', ['status']);
  assert.equal(status, 78);
  assert.match(stderr, /store\.url is not set/);
});

it('names what it can do, and what it wants to restore', () => {
  const home = homeOf('words', '');
  assert.match(
    runCommand(home, 'lcckeep', ['go']).stderr,
    /give one of init, status, release, verify, restore/,
  );
  assert.match(runCommand(home, 'lcckeep', ['restore', 'lcc']).stderr, /give NAME and FILE/);
  assert.equal(runCommand(home, 'lcckeep', ['status', 'more']).status, 64);
});

describe('lcckeep', { skip: noEngine }, () => {
  const engine = started as Engine;
  let home: string;
  const lcckeep = (...args: string[]) => runCommand(home, 'lcckeep', args);

  before(() => {
    const store = `url = "${engine.url()}"\npassword_file = "${engine.passwordFile()}"`;
    home = homeOf('kept', `[store]\n${store}\n[cluster]\nmachine = "h1"\n`);
    const db = openDatabase(join(home, 'lcc.db'));
    addProvider(db, 7, 'secret', {}, ['http://a.example/']);
    db.close();
  });

  it('says what to do first', () => {
    const { status, stderr } = lcckeep('status');
    assert.equal(status, 78);
    assert.match(stderr, /has no tables; make them: lcckeep init/);
    assert.match(lcckeep('init').stderr, /denied/);
  });

  it('makes the tables by an account that may, once', () => {
    const admin = ['--user=lcc_admin', `--password-file=${engine.passwordFile('lcc_admin')}`];
    const { status, stderr } = lcckeep('init', ...admin);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /shard 0 is the home of h1; start lccd/);
    const again = lcckeep('init', ...admin);
    assert.equal(again.status, 65);
    assert.match(again.stderr, /has shard 0 already, owned by h1; lcckeep init --again/);
  });

  it('shows owner and standbys, compares and restores databases, and leaves only when nothing runs', async () => {
    const keeper = daemons.start('lccd-keep', home);
    await keeper.logged('"event":"base made","name":"lcc"');
    const { status, stdout } = lcckeep('status');
    assert.equal(status, 1, 'there is no standby');
    assert.match(
      stdout,
      /^shard 0 of LCC [\w-]{36}, epoch 1\nowner: h1, beat \d+\.\d s ago\nunshipped: 0 bytes\n/,
    );
    assert.match(stdout, /\nlcc: shipment \d+, base \d+\n(.*\n)*standby: none\n$/);
    const shown = JSON.parse(lcckeep('status', '--json').stdout) as Record<string, { owner: string }>;
    assert.equal(shown['home']?.owner, 'h1');

    const verified = lcckeep('verify');
    assert.match(verified.stdout, /^lcc: as the engine has it\n$/, verified.stderr);
    const file = join(dir, 'restored.db');
    assert.equal(lcckeep('restore', 'lcc', file).status, 0);
    const db = openSqlite(file, { readonly: true });
    assert.equal(db.prepare('SELECT pid FROM pidb').pluck().get(), 7);
    db.close();
    assert.equal(lcckeep('restore', 'lcc', file).status, 73);
    assert.equal(lcckeep('restore', 'else', `${file}2`).status, 64);

    assert.equal(lcckeep('leave').status, 75);
    await keeper.stop();
    // Behind the back of the keeper.
    const own = openDatabase(join(home, 'lcc.db'));
    addProvider(own, 8, 'secret', {}, ['http://b.example/']);
    own.close();
    const differs = lcckeep('verify');
    assert.equal(differs.status, 65);
    assert.match(differs.stdout, /^lcc: \d+ pages are not as the engine has them: /);
    const left = lcckeep('leave');
    assert.equal(left.status, 0, left.stderr);
    assert.match(left.stderr, /remove store\.url/);
    assert.match(lcckeep('status').stdout, /shard 0: nothing in the engine/);
  });
});
