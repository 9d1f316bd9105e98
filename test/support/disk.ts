/** A disk of its own for tests: a file system in a file, mounted, that can be filled, made read-only, or lose its power. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from './until.js';
import { ROOT } from './tree.js';

export type FileSystem = 'ext4' | 'xfs';

/** Options of mkfs; a small disk keeps nothing back for the administrator. */
const MKFS: Record<FileSystem, string[]> = { ext4: ['-q', '-F', '-m', '0'], xfs: ['-q', '-f'] };
/** The least that mkfs.xfs takes is 300 MB. */
export const XFS_BYTES = 320 * 1024 * 1024;

/** Why no such disk can be had here, or false: for `skip`. Under CI missing programs are a failure, not a skip. */
export function noDisk(type: FileSystem): string | false {
  if (process.getuid?.() !== 0) return 'mounting needs root';
  if (!existsSync('/dev/loop-control')) return 'no loop devices';
  if (process.env['CI'] === 'true') return false;
  const missing = [`mkfs.${type}`, 'mount', 'python3'].find(
    program => spawnSync('sh', ['-c', `command -v ${program}`]).status !== 0,
  );
  return missing === undefined ? false : `no ${missing}`;
}

/** Mounts a small disk in memory. @param size as mount(8) reads it @returns what unmounts it; undefined where only root could */
export function mountSmall(folder: string, size: string): (() => void) | undefined {
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'none', folder]);
  return status === 0 ? () => void spawnSync('umount', ['-l', folder]) : undefined;
}

export class Disk {
  readonly path: string;
  readonly #dir = mkdtempSync(join(tmpdir(), 'lcc-disk-'));
  readonly #image = join(this.#dir, 'image');
  readonly #options: readonly string[];
  get #filler(): string {
    return join(this.path, 'filler');
  }

  /**
   * @param path where it is mounted, a folder that is there; a new one by default
   * @param options more of mount(8)
   */
  constructor(type: FileSystem, bytes: number, path?: string, options: readonly string[] = []) {
    this.#options = options;
    this.path = path ?? join(this.#dir, 'mnt');
    if (path === undefined) mkdirSync(this.path);
    run('truncate', '-s', String(bytes), this.#image);
    run(`mkfs.${type}`, ...MKFS[type], this.#image);
    // Who starts with mounts of its own, as `ip netns exec` does, copies this one. Below a shared mount the copy goes too when
    // the disk is unmounted; else it would stay in use, and be mounted again as it was left: without power.
    run('mount', '--bind', this.path, this.path);
    run('mount', '--make-shared', this.path);
    this.mount();
  }

  /** Leaves no room, or only `leftBytes`: a file takes all there is, until it is removed. */
  fill(leftBytes = 0): void {
    // The blocks of files removed just now come back with the next commit of the file system's journal.
    this.sync();
    // What a write reserves and does not need is free once it is on disk: small writes take that.
    for (const bytes of ['64k', '1k', '1k']) {
      const to = [`of=${this.#filler}`, 'oflag=append', 'conv=notrunc', `bs=${bytes}`];
      const { status } = spawnSync('dd', ['if=/dev/zero', ...to], { stdio: 'ignore' });
      if (status === 0) throw new Error(`${this.path}: it cannot be filled`);
      this.sync();
    }
    if (leftBytes > 0) truncateSync(this.#filler, statSync(this.#filler).size - leftBytes);
  }

  makeRoom(): void {
    rmSync(this.#filler, { force: true });
  }

  /** A path beside it, on a disk that keeps its power. */
  outside(name: string): string {
    return join(this.#dir, name);
  }

  mount(): void {
    run('mount', '-o', ['loop', ...this.#options].join(','), this.#image, this.path);
  }

  /** Everything that uses it must be ending. Resolves when no mount has it any more, wherever. */
  async unmount(): Promise<void> {
    await inTime(() => run('umount', this.path));
    await inTime(() => {
      const used = run('losetup', '-j', this.#image);
      if (used !== '') throw new Error(`${this.path} is unmounted and still in use: ${used}`);
    });
  }

  sync(): void {
    run('sync', '-f', this.path);
  }

  /** What was not synced is gone; until it is mounted again every use fails with EIO. */
  cutPower(): void {
    run('python3', join(ROOT, 'test/fixtures/power-cut.py'), this.path);
  }

  setReadOnly(isReadOnly: boolean): void {
    run('mount', '-o', `remount,${isReadOnly ? 'ro' : 'rw'}`, this.path);
  }

  async remove(): Promise<void> {
    await this.unmount();
    run('umount', this.path);
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

/** Tries until it works. */
async function inTime(action: () => void): Promise<void> {
  let failure: unknown;
  const attempt = () => {
    try {
      action();
      return true;
    } catch (error) {
      failure = error;
      return false;
    }
  };
  await until('a disk is let go of', attempt).catch((error: unknown) => {
    throw new Error(String(failure), { cause: error });
  });
}

function run(command: string, ...args: string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${stderr || (error?.message ?? String(status))}`);
  return stdout;
}
