import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { readProvider } from '../../src/db/providers/pidb.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { runCommand } from '../support/command.js';
import { lccpidb, newHome } from '../support/lccpidb.js';

describe('lccpidb rm', () => {
  it('purges a provider only when the number of its urls is repeated', () => {
    const home = newHome();
    lccpidb(home, 'add', '--pid=1', '--root=http://h/', '--spider=yes');
    const db = openDatabase(join(home, 'lcc.db'));
    db.exec(
      `INSERT INTO lccurl(pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq, hops)
       VALUES (1, 'http://h/a', 'text/html', 'x', 1, 1, 'm', 'f', 1, 1, 2);
       INSERT INTO qdb(pos, pid, curl, mimetype, psetid) VALUES (1, 1, 'http://h/b', 'text/html', 1)`,
    );
    const leaves = () => db.prepare('SELECT leaveat IS NOT NULL FROM pidb').pluck().get();
    const purge = (input: string, option = '--purge') =>
      runCommand(home, 'lccpidb', ['rm', '--pid=1', option], { input });
    for (const [input, option] of [
      ['', '--purge'],
      ['yes\n', '--purge'],
      ['3\n', '--purge'],
      ['2\n', '--purge=3'],
    ] as const) {
      const { status, stderr } = purge(input, option);
      assert.equal(status, 64);
      assert.match(
        stderr,
        /1 url stored and 1 queued, and nothing is removed; lccpidb rm --pid=1 --purge=2 removes all of that/,
      );
      assert.equal(leaves(), 0);
    }
    const asked = purge('2\n');
    assert.deepEqual([asked.status, leaves()], [0, 1]);
    assert.match(
      asked.stderr,
      /; type 2 to have all of that removed\n.*provider 1 is disabled; lccd-qm removes what/,
    );
    db.exec('UPDATE pidb SET leaveat = NULL');
    assert.deepEqual([purge('', '--purge=2').status, leaves()], [0, 1]);
    db.exec('DELETE FROM lccurl; DELETE FROM queued');
    assert.equal(purge('').status, 0);
    assert.equal(readProvider(db, 1), undefined, 'of one without a url there is nothing to ask');
    db.close();
    assert.equal(runCommand(home, 'lccpidb', ['show', '--pid=1', '--purge']).status, 64);
  });
});
