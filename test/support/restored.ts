/** An LCC that is made of a backup of another. */
import assert from 'node:assert/strict';
import { runCommand } from './command.js';
import { Lcc } from './lcc.js';

/** An LCC made of a backup; what it fetches comes from the same site. */
export class Restored extends Lcc {
  restore(dir: string, ...options: string[]) {
    return runCommand(this.home, 'lccctl', ['restore', dir, ...options]);
  }
  /** Started, and at rest, without a fault. */
  async serves(): Promise<void> {
    await this.start();
    await this.run('lccctl resume -q');
    await this.idle();
    await this.stop();
    this.isClean();
  }
  isClean(): void {
    const { status, stdout } = runCommand(this.home, 'lccfsck', []);
    assert.deepEqual({ status, stdout }, { status: 0, stdout: '' });
  }
}
