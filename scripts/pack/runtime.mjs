// What packages that need no Node have of it: the Node that builds them, stripped; and the executable of a site, which is that Node with
// the commands inside (https://nodejs.org/api/single-executable-applications.html).
import { copyFileSync, existsSync, chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { inject } from 'postject';
import { run } from './tree.mjs';

/** Where Node looks for what was put into it. */
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';

/** Debian's name of this machine's processor. */
export const DEBIAN_ARCH = { x64: 'amd64', arm64: 'arm64' }[process.arch];

/** The licence that came with this Node, with those of all that is in it. */
export function nodeLicence() {
  const prefix = join(dirname(process.execPath), '..');
  const file = ['LICENSE', 'share/doc/nodejs/LICENSE', 'share/doc/node/LICENSE']
    .map(name => join(prefix, name))
    .find(existsSync);
  if (file === undefined)
    throw new Error(`pack: ${process.execPath} came without its LICENSE, which goes with it`);
  return readFileSync(file, 'utf8');
}

/** Makes `file` of this Node, without symbols, which nothing reads. */
export function strippedNode(file) {
  mkdirSync(dirname(file), { recursive: true });
  run('strip', ['--strip-unneeded', '-o', file, process.execPath]);
  chmodSync(file, 0o755);
}

/**
 * Makes one executable of all commands of a site.
 * @param bin folder of the bundles, with the main script `lcc-cp.main.cjs`
 * @param summaries what each command does, by its name
 * @param node stripped
 * @param work folder for what is between
 */
export async function siteExecutable({ bin, summaries, node, work, file }) {
  const assets = {
    'commands.json': join(work, 'commands.json'),
    'hash-worker.cjs': join(bin, 'hash-worker.cjs'),
  };
  writeFileSync(assets['commands.json'], JSON.stringify(summaries));
  for (const name of Object.keys(summaries)) {
    assets[`${name}.cjs`] = join(bin, `${name}.bundle.cjs`);
    const code = join(bin, `${name}.bundle.cjs.${process.version}-${process.arch}`);
    if (!existsSync(code)) throw new Error(`pack: ${code} is not there; build with this Node: npm run build`);
    assets[`${name}.code`] = code;
  }
  copyFileSync(join(bin, 'lcc-cp.main.cjs'), join(work, 'lcc-cp.cjs'));
  // The name of the main script goes into the executable: without a folder of this machine.
  const config = {
    main: 'lcc-cp.cjs',
    output: 'lcc-cp.blob',
    disableExperimentalSEAWarning: true,
    useSnapshot: false,
    useCodeCache: false,
    assets,
  };
  writeFileSync(join(work, 'sea.json'), JSON.stringify(config));
  run(process.execPath, ['--experimental-sea-config', 'sea.json'], { cwd: work });
  copyFileSync(node, file);
  chmodSync(file, 0o755);
  // The names of some sections of Node's notes are strange to it, twelve times; they stay as they are.
  const { warn } = console;
  console.warn = text => void (/string offset for section/.test(text) || warn(text));
  await inject(file, 'NODE_SEA_BLOB', readFileSync(join(work, 'lcc-cp.blob')), {
    sentinelFuse: FUSE,
  });
  console.warn = warn;
}

/** What the dynamic linker needs for these files, as dpkg writes it. */
export function sharedLibraries(work, files) {
  mkdirSync(join(work, 'debian'), { recursive: true });
  writeFileSync(join(work, 'debian/control'), 'Source: lcc\n\nPackage: lcc\nArchitecture: any\n');
  const said = run('dpkg-shlibdeps', ['-O', ...files.flatMap(file => ['-e', file])].flat(), { cwd: work });
  return said.trim().replace(/^shlibs:Depends=/, '');
}
