/** What root does in the home of another user is that user's: its daemons open it. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { runCommand } from '../support/command.js';
import { noOtherUser } from '../support/other-user.js';

const skip = noOtherUser();
/** Of this run alone. */
const uid = 60_000 + (process.pid % 5000);
const gid = uid + 1;

describe('root in the home of another user', { skip }, () => {
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-as-root-'));
  const home = join(scratch, 'home');
  const umask = process.umask();
  before(() => {
    chmodSync(scratch, 0o755);
    mkdirSync(home);
    chownSync(home, uid, gid);
    // As administrators may have it.
    process.umask(0o077);
  });
  after(() => {
    process.umask(umask);
    rmSync(scratch, { recursive: true });
  });

  const does = (command: string, ...args: string[]) => {
    const { status, stderr } = runCommand(home, command, args);
    assert.equal(status, 0, `${command} ${args.join(' ')}: ${stderr}`);
  };
  /** Whatever there is that is somebody else's. */
  const strangers = () =>
    readdirSync(home, { recursive: true, encoding: 'utf8' }).filter(name => {
      const stats = lstatSync(join(home, name));
      return stats.uid !== uid || stats.gid !== gid;
    });

  it('leaves nothing that is root’s, whatever command is the first', () => {
    does('lccpidb', 'add', '--pid=1', '--root=http://h/');
    does('lccrs', 'operator', 'add', 'ada');
    does('lccrail', 'target', 'add', 'www');
    does('lccq', `--cursor=${join(home, 'cursors')}`, '--format=urls');
    does('lccfsck', '--repair');
    assert.deepEqual(strangers(), []);
    assert.ok(readdirSync(home).includes('lcc.db') && readdirSync(join(home, 'rs')).includes('operators'));
    const { status, stderr } = runCommand(home, 'lccpidb', ['list'], { uid, gid });
    assert.equal(status, 0, stderr);
  });

  it('and what it replaces stays whose it was, as open as it was', () => {
    const operators = join(home, 'rs/operators');
    chownSync(operators, uid, gid + 1);
    chmodSync(operators, 0o600);
    does('lccrs', 'operator', 'add', 'bob');
    const { uid: owner, gid: group, mode } = statSync(operators);
    assert.deepEqual([owner, group, mode & 0o777], [uid, gid + 1, 0o600]);
  });
});
