/** Packages, made once for a test file of what the build has made, and how they are looked into. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../support/tree.js';

/** Why packages cannot be made here; the gate has what it takes. */
export function noPacking(): string | false {
  const missing = ['strip', 'dpkg-deb', 'dpkg-shlibdeps'].find(
    tool => spawnSync(tool, ['--version']).error !== undefined,
  );
  return process.env['CI'] !== 'true' && missing !== undefined && `${missing} is not installed`;
}

export class Packed {
  readonly dir = mkdtempSync(join(tmpdir(), 'lcc-packed-'));

  /** @param kinds site, lcc, npm */
  make(kinds: readonly string[], env: NodeJS.ProcessEnv = {}): void {
    const args = [join(ROOT, 'scripts/pack/index.mjs'), '--fast', `--out=${this.dir}`, ...kinds];
    // In a copy without a checkout, too.
    const epoch = { SOURCE_DATE_EPOCH: '1795800000' };
    const made = spawnSync(process.execPath, args, {
      env: { ...process.env, ...epoch, ...env },
      encoding: 'utf8',
    });
    assert.equal(made.status, 0, made.stderr);
  }

  /** The file that matches, below the folder. */
  file(pattern: RegExp): string {
    const [name, ...others] = readdirSync(this.dir).filter(each => pattern.test(each));
    assert.ok(name !== undefined && others.length === 0, `${pattern}: ${readdirSync(this.dir).join(' ')}`);
    return join(this.dir, name);
  }

  /** Names in a Debian package with modes and owners, as tar prints them. */
  listing(deb: string): string[] {
    const { stdout, status } = spawnSync('dpkg-deb', ['-c', deb], { encoding: 'utf8', maxBuffer: 1 << 26 });
    assert.equal(status, 0);
    return stdout.split('\n').filter(line => line !== '');
  }

  remove(): void {
    rmSync(this.dir, { recursive: true, force: true });
  }
}

/** Errors that lintian finds, and overrides that override nothing. Packages of a test are not compressed. */
export function lintianErrors(deb: string): string[] {
  const args = ['--allow-root', '--fail-on=error', '--tag-display-limit=0', deb];
  const { stdout, stderr } = spawnSync('lintian', args, { encoding: 'utf8', maxBuffer: 1 << 26 });
  return `${stdout}${stderr}`
    .split('\n')
    .filter(line =>
      /^E: (?!\S+ uses-no-compression)|unused-override|mismatched-override|^internal/.test(line),
    );
}
