// The two packages for npm: the whole, and the commands of a site, which the build has made.
import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from './tree.mjs';

/** @returns paths of what it has made */
export function packNpm({ root, out, version }) {
  run('npm', ['pack', '--pack-destination', out, '--ignore-scripts', '--offline', '--silent'], { cwd: root });
  const site = join(out, `lcc-cp-${version}.tgz`);
  copyFileSync(join(root, 'dist/bin/lcc-cp.tgz'), site);
  return [join(out, `lcc-${version}.tgz`), site];
}
