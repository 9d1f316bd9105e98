/** Numbers of providers in the map of a real engine, as commands take, show and free them. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { Engine as OurEngine } from '../../src/db/engine/engine.js';
import { makeTables } from '../../src/db/engine/home-rows.js';
import { engineAccount } from '../../src/db/engine/nodes.js';
import { systemClock } from '../../src/lib/clock.js';
import { silentLog } from '../../src/lib/log.js';
import { atEnd } from '../support/at-end.js';
import { runCommand } from '../support/command.js';
import { Engine, noEngine } from '../support/engine.js';
import { HeldKeeper } from '../support/held-keeper.js';
import { shell } from '../support/shell.js';

let engine: Engine;
const homes: string[] = [];
const keepers: HeldKeeper[] = [];
atEnd(async () => {
  for (const keeper of keepers) await keeper.close();
  for (const home of homes) rmSync(home, { recursive: true, force: true });
});

/** A home of one machine, whose keeper ships at once; its providers are in the map from now on. */
async function newHome(shard: number): Promise<string> {
  const home = mkdtempSync(join(tmpdir(), 'lcc-map-'));
  writeFileSync(
    join(home, 'lcc.toml'),
    `[store]\nurl = "${engine.url()}"\npassword_file = "${engine.passwordFile()}"\n[cluster]\nshard = ${shard}\n`,
  );
  homes[shard] = home;
  keepers[shard] = await new HeldKeeper(home).open();
  return home;
}

/** Beside this process, which is the keeper. */
const run = (shard: number, ...words: string[]) =>
  shell(
    words.join(' '),
    { ...process.env, LCC_HOME: homes[shard] ?? '', LCC_CONFIG: '' },
    homes[shard] ?? '',
  );
const add = (shard: number, pid: number) =>
  run(shard, 'lccpidb', 'add', `--pid=${pid}`, `--root=http://www.example.org/${shard}/${pid}/`);
const map = async () =>
  Object.fromEntries(
    (await engine.node.query('select pid, shard from lcc.pmdb order by pid')).map(({ pid, shard }) => [
      pid,
      shard,
    ]),
  );

describe('the map of an LCC that is several homes', { skip: noEngine }, () => {
  before(async () => {
    engine = await Engine.start();
    const url = engine.url().replace('//lcc@', '//lcc_admin@');
    const account = engineAccount({
      url,
      passwordFile: engine.passwordFile('lcc_admin'),
      tlsCa: '',
      plain: false,
    });
    const ours = new OurEngine(account, { clock: systemClock, log: silentLog });
    await makeTables(ours, new AbortController().signal);
    ours.close();
    for (const shard of [0, 1]) await newHome(shard);
    await engine.node.query("insert into lcc.home values (0, 'u', 3, 'h1', 1), (1, 'u', 1, '', 0)");
  });
  it('has a number be that of one home: the other is told which', async () => {
    assert.equal((await add(0, 5)).status, 0);
    const { status, stderr } = await add(1, 5);
    assert.equal(status, 64, stderr);
    assert.match(stderr, /home 0 has provider 5/);
    assert.deepEqual(await map(), { 5: 0 });
  });

  it('has one of two homes win that take a number at once', async () => {
    const both = await Promise.all([add(0, 6), add(1, 6)]);
    assert.deepEqual(
      both.map(({ status }) => status).toSorted((a, b) => (a ?? 0) - (b ?? 0)),
      [0, 64],
    );
    assert.deepEqual((await map())[6], both[0]?.status === 0 ? 0 : 1);
    for (const shard of [0, 1]) {
      const { stdout } = await run(shard, 'lccpidb', 'list');
      assert.equal(/^6\b/m.test(stdout), both[shard]?.status === 0, stdout);
    }
  });

  it('keeps no number of a provider that could not be added', async () => {
    const { status } = await run(0, 'lccpidb', 'add', '--pid=8', '--root=nonsense');
    assert.equal(status, 64);
    // The home has it, and the map does not: one from before there was an engine.
    await engine.node.query('delete from lcc.pmdb where pid = 5');
    assert.notEqual((await add(0, 5)).status, 0);
    assert.equal((await map())[5], undefined);
    assert.equal((await map())[8], undefined);
  });

  it('gets a row for each provider that a home has had before: join', async () => {
    const { status, stderr } = await run(0, 'lccmap', 'join');
    assert.equal(status, 0, stderr);
    assert.match(stderr, /home 0: 1 provider joined/);
    assert.equal((await map())[5], 0);
    await engine.node.query('update lcc.pmdb set shard = 1 where pid = 5');
    const strange = await run(0, 'lccmap', 'join');
    assert.equal(strange.status, 65);
    assert.match(strange.stderr, /1 provider of this home is of another home, too: provider 5 of home 1/);
    await engine.node.query('update lcc.pmdb set shard = 0 where pid = 5');
  });

  it('gives sites of a list numbers that no home has', async () => {
    await engine.node.query("insert into lcc.pmdb values (100, 1, 'served'), (102, 1, 'served')");
    writeFileSync(join(homes[0] ?? '', 'sites'), 'http://a.example.org/\nhttp://b.example.org/\n');
    const { stdout } = await run(0, 'lccpidb', 'add', '--sites=sites', '--pid-from=100', '--spider=yes');
    assert.deepEqual(stdout.match(/^\d+/gm), ['101', '103']);
    const again = await run(0, 'lccpidb', 'add', '--sites=sites', '--pid-from=100', '--spider=yes');
    assert.match(again.stdout, /^101\t.*\tthere\n103\t/);
    assert.deepEqual(
      Object.keys(await map()).filter(pid => Number(pid) >= 100),
      ['100', '101', '102', '103'],
    );
  });

  it('has a number free again when its provider is gone, and that is in the engine', async () => {
    const keeper = keepers[0] as HeldKeeper;
    keeper.hold();
    const gone = run(0, 'lccpidb', 'rm', '--pid=5');
    await keeper.holds('lcc');
    assert.equal((await map())[5], 0);
    keeper.release();
    assert.equal((await gone).status, 0);
    assert.equal((await map())[5], undefined);
    assert.equal((await add(1, 5)).status, 0);
  });

  it('is shown: list, where', async () => {
    const { stdout } = await run(0, 'lccmap', 'list');
    assert.match(stdout, /^HOME\tOWNER\tPROVIDERS\tMOVING\tNEW\n0\th1\t\d+\t0\tyes\n1\t-\t\d+\t0\tno\n$/);
    const json = (await run(0, 'lccmap', 'list', '--json')).stdout
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as object);
    assert.deepEqual(Object.keys(json[1] ?? {}), ['shard', 'owner', 'epoch', 'open', 'providers', 'moving']);
    assert.equal((await run(0, 'lccmap', 'where', '100')).stdout, 'home 1, owned by no machine\n');
    assert.equal((await run(0, 'lccmap', 'where', '101')).stdout, 'home 0, owned by h1\n');
    const nobody = await run(0, 'lccmap', 'where', '99');
    assert.deepEqual([nobody.status, nobody.stdout], [1, '']);
  });

  it('says of each home whether it takes new providers', async () => {
    const open = async () =>
      (await engine.node.query('select open from lcc.home order by shard')).map(row => row['open']);
    assert.match(
      (await run(0, 'lccmap', 'add-shard', '1')).stderr,
      /no machine owns home 1; start its lccd first/,
    );
    await engine.node.query("update lcc.home set owner = 'h2' where shard = 1");
    assert.equal((await run(0, 'lccmap', 'add-shard', '1')).status, 0);
    assert.deepEqual(await open(), [1, 1]);
    assert.equal((await run(0, 'lccmap', 'close-shard', '0')).status, 0);
    assert.deepEqual(await open(), [0, 1]);
    assert.equal((await run(0, 'lccmap', 'open-shard', '0')).status, 0);
    assert.deepEqual(await open(), [1, 1]);
    for (const word of ['add-shard', 'open-shard', 'close-shard'])
      assert.match((await run(0, 'lccmap', word, '9')).stderr, /the engine has no home 9/);
  });
});

describe('lccmap', () => {
  it('says how it is called, and that an LCC without an engine has no map', () => {
    const home = mkdtempSync(join(tmpdir(), 'lcc-map-'));
    try {
      assert.equal(runCommand(home, 'lccmap', ['list']).status, 78);
      for (const words of [[], ['away'], ['where'], ['list', '3'], ['where', 'x']])
        assert.equal(runCommand(home, 'lccmap', words).status, 64, words.join(' '));
    } finally {
      rmSync(home, { recursive: true });
    }
  });

  it('asks the homes to move a provider, says how far that has come, and takes it back', async () => {
    await engine.node.query('delete from lcc.pmdb');
    await engine.node.query("insert into lcc.pmdb values (70, 0, 'served')");
    const asked = await run(0, 'lccmap', 'move', '--pid=70', '--to=1');
    assert.match(asked.stderr, /provider 70 moves from home 0 to home 1/);
    assert.match(
      (await run(1, 'lccmap', 'list')).stdout,
      /^provider 70 moves from home 0 to home 1: asked$/m,
    );
    assert.match(
      (await run(1, 'lccmap', 'list', '--json')).stdout,
      /"pid":70,"src":0,"dst":1,"stage":"asked"/,
    );
    assert.match(
      (await run(0, 'lccmap', 'move', '--pid=70', '--to=0')).stderr,
      /provider 70 moves from home 0 to home 1 already/,
    );
    assert.match(
      (await run(0, 'lccmap', 'move', '--pid=70', '--cancel')).stderr,
      /provider 70 stays with home 0/,
    );
    assert.match((await run(1, 'lccmap', 'list')).stdout, /cancelled$/m);
    assert.equal((await run(0, 'lccmap', 'move', '--pid=70')).status, 64);
    await engine.node.query('delete from lcc.move');
  });
});
