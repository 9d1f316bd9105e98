/** The disk that these tests use: that what they see of it after a power cut is what was synced. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { Disk, noDisk } from '../support/disk.js';

it(
  'a disk has its power again although a machine was started meanwhile, with mounts of its own',
  { skip: noDisk('ext4') },
  async () => {
    const disk = new Disk('ext4', 16 * 1024 * 1024);
    const file = join(disk.path, 'file');
    writeFileSync(file, 'synced');
    disk.sync();
    // As `ip netns exec` does. It ends when its input does.
    const machine = spawn('unshare', ['--mount', '--propagation', 'slave', 'sh', '-c', 'echo; exec cat'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const ended = once(machine, 'close');
    try {
      await once(machine.stdout, 'data');
      disk.cutPower();
      await disk.unmount();
      disk.mount();
      assert.equal(readFileSync(file, 'utf8'), 'synced');
    } finally {
      machine.stdin.end();
      await ended;
      await disk.remove();
    }
  },
);
