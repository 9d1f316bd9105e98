/** The databases of the UNSes, damaged: what lccfsck says of them, and what it does that lccd-uns would do. */
import assert from 'node:assert/strict';
import { existsSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Cp, init, newHome, set, type Home } from '../support/uns.js';
import { runCommand } from '../support/command.js';

function lccfsck(home: Home, ...args: string[]) {
  const { status, stdout, stderr } = runCommand(home.dir, 'lccfsck', args);
  return { status, findings: stdout.split('\n').filter(line => line !== ''), stderr };
}

/** One after which two sets wait, and its provider's password. */
async function stopped(): Promise<{ home: Home; password: string }> {
  const home = newHome();
  const password = home.addProvider(7);
  const daemon = await home.start();
  for (const curl of ['a', 'b'])
    await new Cp(daemon.port).send(init(7, password) + set('partial', curl)).reply;
  await daemon.stop();
  return { home, password };
}

const DAMAGES: Record<string, (path: string) => void> = {
  'cut off': path => truncateSync(path, 5000),
  emptied: path => truncateSync(path, 0),
  'no database': path => writeFileSync(path, 'x'.repeat(8192)),
  'garbled in a page': path => {
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096, 8192);
    writeFileSync(path, bytes);
  },
};

const FILE = 'sessions.db';
const AFTER = 'numbers of connections go on far beyond, errors that were received may be shown again';

describe('lccfsck and the database of the UNSes', () => {
  it('finds nothing of sound ones, also while they are written', async () => {
    const { home, password } = await stopped();
    assert.deepEqual(lccfsck(home).findings, []);
    const daemon = await home.start();
    await new Cp(daemon.port).send(init(7, password) + set('partial', 'c')).reply;
    assert.deepEqual(lccfsck(home).findings, []);
    await daemon.stop();
  });

  for (const [how, damage] of Object.entries(DAMAGES)) {
    it(`tells that ${FILE} is ${how}, and sets it aside when it repairs; the UNS goes on`, async () => {
      const { home, password } = await stopped();
      const path = join(home.dir, 'spool/uns', FILE);
      damage(path);
      const damaged = readFileSync(path);
      const looked = lccfsck(home);
      assert.equal(looked.status, 1);
      assert.equal(looked.findings.length, 1);
      const [kind, where, what = ''] = (looked.findings[0] ?? '').split('\t');
      assert.deepEqual([kind, where], ['spool', `spool/uns/${FILE}`]);
      assert.ok(what.endsWith(`; lccd-uns sets it aside when it starts: ${AFTER}`), what);
      assert.match(looked.stderr, /1 found, 0 repaired; stop lccd and run lccfsck --repair/);
      assert.ok(readFileSync(path).equals(damaged), 'looking changes nothing');

      const repaired = lccfsck(home, '--repair');
      assert.equal(repaired.status, 0, repaired.stderr);
      assert.match(repaired.findings.join(), /; set aside as \S+\.damaged-1, .*\trepaired$/);
      assert.ok(readFileSync(`${path}.damaged-1`).equals(damaged));
      assert.equal(existsSync(path), false);
      assert.deepEqual(lccfsck(home).findings, []);

      const daemon = await home.start();
      const reply = await new Cp(daemon.port).send(init(7, password) + set('partial', 'c')).reply;
      assert.match(reply, /<set_accepted received="1"/);
      const seq = Number(/ seq="(\d+)"/.exec(reply)?.[1]);
      assert.ok(seq > 1_000_000, `the connection has number ${seq}`);
      assert.equal(home.spooled().length, 3);
      await daemon.stop();
      assert.deepEqual(lccfsck(home).findings, []);
    });
  }
});
