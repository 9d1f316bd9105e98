/** The databases of the UNSes, damaged: what lccfsck says of them, and what it does that lccd-uns would do. */
import assert from 'node:assert/strict';
import { rmSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
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
  'no database': path => writeFileSync(path, 'x'.repeat(8192)),
  'garbled in a page': path => {
    const bytes = readFileSync(path);
    bytes.fill(0xa5, 4096, 8192);
    writeFileSync(path, bytes);
  },
};

const FILE = 'sessions.db';
const REMEDY =
  '; stop lccd-uns and move it away, with its -wal and -shm: a new one is made, and errors that were received may be shown again';

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
    it(`tells that ${FILE} is ${how}, as the UNS does; moved away, a new one takes its place`, async () => {
      const { home, password } = await stopped();
      const path = join(home.dir, 'spool/uns', FILE);
      damage(path);
      const damaged = readFileSync(path);
      for (const option of [[], ['--repair']]) {
        const looked = lccfsck(home, ...option);
        assert.equal(looked.status, 1);
        const [kind, where, what = ''] = (looked.findings.join('\n') || '').split('\t');
        assert.deepEqual([kind, where], ['spool', `spool/uns/${FILE}`]);
        assert.ok(what.startsWith('database damaged (') && what.endsWith(REMEDY), what);
        assert.match(looked.stderr, /1 found, 0 repaired\n$/);
        assert.ok(readFileSync(path).equals(damaged), 'nothing is changed');
      }
      await assert.rejects(
        home.start(),
        /sessions\.db: database damaged \(.*\); stop lccd-uns and move it away/,
      );
      assert.ok(readFileSync(path).equals(damaged), 'nothing is changed');
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
      assert.deepEqual(lccfsck(home).findings, []);

      const daemon = await home.start();
      const reply = await new Cp(daemon.port).send(init(7, password) + set('partial', 'c')).reply;
      assert.match(reply, /<set_accepted received="1"/);
      // The spool has the sets of two connections.
      assert.match(reply, / seq="3"/);
      assert.equal(home.spooled().length, 3);
      await daemon.stop();
      assert.deepEqual(lccfsck(home).findings, []);
    });
  }
});
