/** lccd tells the operator of a silent provider: by the program of its settings, once, also after a kill. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { Lcc } from '../support/lcc.js';
import { readIfThere } from '../../src/lib/read-if-there.js';
import { until } from '../support/until.js';

describe('lccd.alert_command', () => {
  let lcc: Lcc;
  before(async () => {
    lcc = new Lcc('http://127.0.0.1:9/');
    lcc.configure(`lccd.alert_command = "cat >>'${lcc.dir}/events'"`);
    await lcc.addProvider();
    const db = openDatabase(join(lcc.home, 'lcc.db'));
    const weekAgo = Math.floor(Date.now() / 1000) - 7 * 86_400;
    db.exec(`UPDATE pidb SET lastset = ${weekAgo}, setevery = 86400`);
    db.close();
  });
  after(() => lcc.remove());
  const events = () => (readIfThere(join(lcc.dir, 'events')) ?? '').split('\n').slice(0, -1);

  it('is told once, though lccd is killed when it has noted that', async () => {
    const killed = lcc.launch({ LCC_CRASH_AT: 'lccd.alerts.told' });
    await killed.ended;
    assert.equal(killed.child.signalCode, 'SIGKILL');
    assert.equal(events().length, 1);
    const { event, pid, text } = JSON.parse(events()[0] ?? '') as Record<string, unknown>;
    assert.deepEqual([event, pid], ['provider-silent', 1]);
    assert.match(readFileSync(join(lcc.home, 'told'), 'utf8'), /^1 \d+\n$/);
    await lcc.killAll();
    await lcc.start();
    assert.ok((await lcc.run('lccstat')).includes(`! ${String(text)}\n`));
    const db = openDatabase(join(lcc.home, 'lcc.db'));
    db.exec(`UPDATE pidb SET lastset = ${Math.floor(Date.now() / 1000)}`);
    db.close();
    await lcc.stop();
    await lcc.start();
    await until('it is heard of again', () => events().length > 1);
    assert.deepEqual(
      events().map(line => (JSON.parse(line) as Record<string, unknown>)['event']),
      ['provider-silent', 'provider-heard'],
    );
  });
});
