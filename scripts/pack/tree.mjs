// The files of a package before they are packed, and the two ways of packing them. Nothing depends on the machine or the moment: times
// are those of the release, owners are root, names are sorted.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';

/** Runs a program. @returns what it prints @throws Error with what it says, when it fails */
export function run(program, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    maxBuffer: 1 << 28,
    ...options,
  });
  if (error?.code === 'ENOENT')
    throw new Error(`${program} is missing; install it (Debian: apt install build-essential)`);
  if (status !== 0)
    throw new Error(`${program} ${args.join(' ')} fails (${status ?? error?.message}): ${stderr ?? ''}`);
  return stdout;
}

/** Time of everything in a package, seconds since 1970: $SOURCE_DATE_EPOCH, else that of the last commit. */
export function epochOf(root) {
  const given = process.env.SOURCE_DATE_EPOCH;
  if (given !== undefined) return Number(given);
  try {
    return Number(run('git', ['log', '-1', '--format=%ct'], { cwd: root }));
  } catch {
    throw new Error('pack: no checkout of git here; set SOURCE_DATE_EPOCH to the time of the release');
  }
}

export class Tree {
  constructor(dir) {
    this.dir = dir;
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir, { recursive: true });
  }

  #at(path) {
    const full = join(this.dir, path);
    // Whatever the umask is.
    const missing = [];
    for (let folder = dirname(full); folder.length > this.dir.length; folder = dirname(folder))
      missing.push(folder);
    for (const folder of missing.reverse()) mkdirSync(folder, { recursive: true, mode: 0o755 });
    return full;
  }

  write(path, content, mode = 0o644) {
    const full = this.#at(path);
    writeFileSync(full, content);
    chmodSync(full, mode);
  }

  copy(from, path, mode = 0o644) {
    const full = this.#at(path);
    copyFileSync(from, full);
    chmodSync(full, mode);
  }

  /** A file compressed as `gzip -9n` does. */
  gzip(path, content) {
    this.write(`${path}.gz`, gzipSync(content, { level: 9 }));
  }

  link(target, path) {
    symlinkSync(target, this.#at(path));
  }

  /** All below, sorted; folders before what is in them. */
  #names(folder = '') {
    return readdirSync(join(this.dir, folder), { withFileTypes: true })
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .flatMap(entry => {
        const path = join(folder, entry.name);
        return entry.isDirectory() ? [path, ...this.#names(path)] : [path];
      });
  }

  /** The same times and modes of folders, whoever packs. @returns names */
  #settle(epoch) {
    const names = this.#names();
    for (const name of ['.', ...names].reverse()) {
      const full = join(this.dir, name);
      if (lstatSync(full).isDirectory()) chmodSync(full, 0o755);
      lutimesSync(full, epoch, epoch);
    }
    return names;
  }

  /** Packs all that lies in `top` as a tar.gz. */
  tar(file, top, { epoch, level = 9 }) {
    this.#settle(epoch);
    const how = [
      '--sort=name',
      `--mtime=@${epoch}`,
      '--owner=0',
      '--group=0',
      '--numeric-owner',
      '--format=gnu',
    ];
    const packed = spawnSync('tar', [...how, '-cf', '-', top], { cwd: this.dir, maxBuffer: 1 << 29 });
    if (packed.status !== 0) throw new Error(`tar fails: ${packed.stderr}`);
    writeFileSync(file, gzipSync(packed.stdout, { level }));
  }

  /**
   * Packs it as a Debian package.
   * @param control its fields, Description last
   * @param scripts of the maintainer, by name: preinst, postinst, prerm, postrm
   * @param conffiles files that belong to the administrator
   * @param isFast leaves it as long as it is
   */
  deb(file, { control, scripts = {}, conffiles = [], epoch, isFast = false }) {
    const names = this.#settle(epoch);
    const files = names.filter(name => lstatSync(join(this.dir, name)).isFile());
    const bytes = files.reduce((sum, name) => sum + lstatSync(join(this.dir, name)).size, 0);
    const { Description, ...fields } = control;
    const lines = Object.entries({ ...fields, 'Installed-Size': Math.ceil(bytes / 1024), Description });
    this.write('DEBIAN/control', lines.map(([name, value]) => `${name}: ${value}\n`).join(''));
    const sums = files.map(
      name =>
        `${createHash('md5')
          .update(readFileSync(join(this.dir, name)))
          .digest('hex')}  ${name}\n`,
    );
    this.write('DEBIAN/md5sums', sums.join(''));
    if (conffiles.length > 0) this.write('DEBIAN/conffiles', `${conffiles.join('\n')}\n`);
    for (const [name, text] of Object.entries(scripts)) this.write(`DEBIAN/${name}`, text, 0o755);
    this.#settle(epoch);
    // With several threads xz cuts its blocks by their number.
    const how = ['--root-owner-group', '--threads-max=1', ...(isFast ? ['-Znone'] : ['-Zxz'])];
    run('dpkg-deb', [...how, '--build', this.dir, file], {
      env: { ...process.env, SOURCE_DATE_EPOCH: String(epoch) },
    });
  }
}
