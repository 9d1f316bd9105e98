/**
 * An LCC of two machines is brought to a release whose schema is newer, by the lines of docs/guide/upgrading.md, while content providers
 * send. The newer release is this one with a step more, for no step of the project lies between two releases with an engine so far.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { SCHEMA_VERSION } from '../../src/db/sqlite/open.js';
import { openSqlite } from '../../src/lib/sqlite.js';
import { KeptCluster } from '../support/cluster.js';
import type { KeptMachine } from '../support/kept-machine.js';
import { noEngine } from '../support/engine.js';
import { makeNewerLcc } from '../support/newer-lcc.js';
import { readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';

/** Sets before each next line. */
const SETS = 20;
const INSTALL = 'apt install ./lcc_*.deb';

/** Lines of the section, in the order in which they are printed. */
const [, section = ''] =
  /\n## Three machines, one after the other\n([^]*?)\n## /.exec(readProjectFile('docs/guide/upgrading.md')) ??
  [];
const printed = [...section.matchAll(/^ {4}(.+)$/gm)].map(([, line]) => line);

function versionIn(machine: KeptMachine): unknown {
  const db = openSqlite(join(machine.home, 'lcc.db'), { readonly: true });
  try {
    return db.pragma('user_version', { simple: true });
  } finally {
    db.close();
  }
}

describe('an LCC of two machines', { skip: noEngine }, () => {
  const tree = mkdtempSync(join(tmpdir(), 'lcc-newer-'));
  let cluster: KeptCluster;
  before(async () => {
    assert.ok(makeNewerLcc(tree) > 20, 'programs with the newer schema');
    cluster = await KeptCluster.start({ machines: 2, callers: 6 });
  });
  after(async () => {
    await cluster.remove();
    rmSync(tree, { recursive: true });
  });

  /** Runs a line as it is printed; it is the next one there. */
  async function follow(machine: KeptMachine, line: string): Promise<string> {
    assert.equal(line, printed.shift());
    await someSets();
    if (line !== INSTALL) return (await machine.sh(line)).stdout;
    await machine.install(tree);
    return '';
  }

  /** Content providers are at work. */
  async function someSets(): Promise<void> {
    const { length } = cluster.callers.sets;
    await until('sets are accepted', () => cluster.callers.sets.length >= length + SETS);
  }

  const requireSound = async () => {
    assert.deepEqual(await cluster.faults(), []);
    assert.deepEqual([...cluster.callers.errors], [], 'what content providers hear');
    cluster.callers.start();
  };

  it('is upgraded one machine after the other, and loses nothing', async () => {
    const [old, next] = cluster.machines as [KeptMachine, KeptMachine];
    cluster.callers.start();
    await follow(next, INSTALL);
    await cluster.settled();
    assert.match(await follow(next, 'lcckeep status'), new RegExp(`standby: ${next.name}, `));
    await follow(old, 'lcckeep release');
    await until('the other machine has the home', async () => (await cluster.owner()) === next);
    await old.logged('"event":"cannot take the home over"');
    assert.match(old.log, /"reason":"[^"]*lcc\.db: a newer LCC made it; install that one on this machine"/);
    assert.match(
      (await old.sh('lccstat')).stdout,
      /this machine cannot take the home over: .*a newer LCC made it/,
    );
    assert.equal(versionIn(next), SCHEMA_VERSION + 1);
    assert.equal(await next.run('lcckeep verify'), 'lcc: as the engine has it\n');
    await someSets();
    await requireSound();
    assert.deepEqual(await cluster.lease(), { owner: next.name, epoch: 2 });

    await follow(old, INSTALL);
    await cluster.settled();
    assert.match(await follow(old, 'lcckeep status'), new RegExp(`standby: ${old.name}, `));
    assert.deepEqual(printed, []);
    await next.run('lcckeep release');
    await until('it has the home back', async () => (await cluster.owner()) === old);
    await someSets();
    await cluster.settled();
    await requireSound();
    assert.equal(versionIn(old), SCHEMA_VERSION + 1);
    assert.deepEqual(await cluster.lease(), { owner: old.name, epoch: 3 });
  });
});
