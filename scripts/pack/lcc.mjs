// A whole LCC as a Debian package: all commands, the runtime and SQLite inside.
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bashOf, fishFiles, zshOf } from '../completions.mjs';
import { CP_COMMANDS } from '../cp-package.mjs';
import { noticesOf } from '../notices.mjs';
import { changelogOf, copyrightOf, MAINTAINER } from './papers.mjs';
import { DEBIAN_ARCH, sharedLibraries } from './runtime.mjs';
import { settingsFile } from './settings.mjs';
import { run, Tree } from './tree.mjs';

const LIB = 'usr/lib/lcc';
const DOC = 'usr/share/doc/lcc';

const ABOUT = ` Sites say which of their pages are new, changed or gone; a Local Content
 Cache fetches exactly those, once, keeps them, and hands every change,
 deletions included, to any indexer.
 .
 This package has all daemons and commands, with the runtime and the database
 that they need inside. 'systemctl enable --now lccd' starts a whole LCC.`;

/** What is not in the bundles, for it is compiled, or loaded by name. */
const OUTSIDE = [
  Number(process.versions.napi) >= 10 ? 'better-sqlite3-13' : 'better-sqlite3',
  'mariadb',
  'prom-client',
];
/** Needed when these are installed, not when they run. */
const OF_INSTALLATION = ['prebuild-install', 'node-addon-api', 'node-gyp-build'];

/** Packages with those that they need. */
function closureOf(root, names, seen = new Set()) {
  const isLoaded = name => !OF_INSTALLATION.includes(name) && !name.startsWith('@types/');
  for (const name of names.filter(each => !seen.has(each) && isLoaded(each))) {
    seen.add(name);
    const { dependencies = {} } = JSON.parse(
      readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'),
    );
    closureOf(root, Object.keys(dependencies), seen);
  }
  return [...seen].sort();
}

/** Files of a package that are loaded, and its licence. */
function loadedFiles(folder, below = '') {
  return readdirSync(join(folder, below), { withFileTypes: true }).flatMap(entry => {
    const path = join(below, entry.name);
    if (entry.isDirectory())
      return /^(deps|src|test|obj(\.target)?|node_modules|esm|esnext)$/.test(entry.name)
        ? []
        : loadedFiles(folder, path);
    // In a folder of its machine, or a file with its name.
    const isOurs = !/^prebuilds/.test(path) || /^prebuilds\/linux-(\w+)[/.]/.exec(path)?.[1] === process.arch;
    const isLoaded = /\.(c?js|node)$|^package\.json$/.test(path) && !/^test_extension/.test(entry.name);
    return isOurs && isLoaded ? [path] : [];
  });
}

/** @returns path of what it has made @param site files that the Registration Server hands out */
export function packLcc({ root, out, work, node, version, epoch, isFast, shell, site }) {
  const tree = new Tree(join(work, 'deb'));
  const read = path => readFileSync(join(root, path));
  const copyAll = (from, to, wanted = () => true) => {
    for (const entry of readdirSync(join(root, from), { withFileTypes: true })) {
      const [source, target] = [join(from, entry.name), join(to, entry.name)];
      if (entry.isDirectory()) copyAll(source, target, wanted);
      else if (wanted(source))
        tree.copy(join(root, source), target, /\.(sh|pl|py)$/.test(entry.name) ? 0o755 : 0o644);
    }
  };

  // Not `node`, which another package may bring: checks of packages look for that one.
  tree.copy(node, `${LIB}/lcc-node`, 0o755);
  tree.write(`${LIB}/package.json`, `${JSON.stringify({ name: 'lcc', version, type: 'commonjs' })}\n`);
  tree.copy(join(root, 'scripts/pack/debian/system.cjs'), `${LIB}/system.cjs`);
  for (const { name } of shell) {
    const lines = [
      `#!/${LIB}/lcc-node`,
      "require('../system.cjs');",
      `require('../dist/bin/${name}.cjs');`,
      '',
    ];
    tree.write(`${LIB}/bin/${name}`, lines.join('\n'), 0o755);
    tree.link(`../lib/lcc/bin/${name}`, `usr/bin/${name}`);
  }
  // What the robot calls while it fetches differs each time, and so does its cached code: it starts without.
  const isForHere = path =>
    !/THIRD-PARTY|\.main\.cjs$|\.v\d/.test(path) ||
    (path.endsWith(`.${process.version}-${process.arch}`) && !path.includes('lccbot'));
  copyAll('dist/bin', `${LIB}/dist/bin`, isForHere);
  for (const file of site) tree.copy(file, `${LIB}/dist/packages/${file.split('/').at(-1)}`);

  const packages = closureOf(root, OUTSIDE);
  const compiled = [];
  for (const name of packages)
    for (const path of loadedFiles(join(root, 'node_modules', name))) {
      const target = `${LIB}/node_modules/${name}/${path}`;
      tree.copy(join(root, 'node_modules', name, path), target);
      if (path.endsWith('.node')) compiled.push(join(tree.dir, target));
    }
  for (const file of compiled) run('strip', ['--strip-unneeded', file]);

  for (const page of readdirSync(join(root, 'man')).filter(name => name !== 'lcc-cp.1'))
    tree.gzip(`usr/share/man/man${page.at(-1)}/${page}`, read(join('man', page)));
  const completions = 'usr/share/bash-completion/completions';
  tree.write(`${completions}/lcc`, bashOf(shell, CP_COMMANDS));
  for (const { name } of shell) tree.link('lcc', `${completions}/${name}`);
  tree.write('usr/share/zsh/vendor-completions/_lcc', zshOf(shell, CP_COMMANDS));
  for (const [name, text] of fishFiles(shell, CP_COMMANDS).filter(([each]) => each !== 'lcc-cp'))
    tree.write(`usr/share/fish/vendor_completions.d/${name}.fish`, text);

  for (const unit of readdirSync(join(root, 'examples/systemd')).filter(name =>
    /\.(service|target)$/.test(name),
  ))
    tree.write(
      `lib/systemd/system/${unit}`,
      read(`examples/systemd/${unit}`).toString().replaceAll('/usr/local/bin/', '/usr/bin/'),
    );
  tree.copy(join(root, 'examples/systemd/sysusers.conf'), 'usr/lib/sysusers.d/lcc.conf');
  tree.copy(join(root, 'scripts/pack/debian/tmpfiles.conf'), 'usr/lib/tmpfiles.d/lcc.conf');
  tree.write('etc/lcc/lcc.toml', settingsFile());

  tree.write(`${DOC}/copyright`, copyrightOf(root));
  const notices = noticesOf(
    root,
    packages.map(name => `node_modules/${name}/package.json`),
  );
  tree.gzip(`${DOC}/THIRD-PARTY.txt`, `${read('dist/bin/THIRD-PARTY.txt')}\n${notices}`);
  tree.gzip(`${DOC}/changelog`, changelogOf('lcc', version, epoch));
  tree.gzip(`${DOC}/CHANGELOG.md`, read('CHANGELOG.md'));
  copyAll('docs/guide', `${DOC}/guide`);
  copyAll(
    'examples',
    `${DOC}/examples`,
    path => !path.includes('node_modules') && !/\.(service|target)$/.test(path),
  );
  tree.copy(join(root, 'scripts/pack/debian/lcc.lintian-overrides'), 'usr/share/lintian/overrides/lcc');

  mkdirSync(work, { recursive: true });
  const deb = join(out, `lcc_${version}_${DEBIAN_ARCH}.deb`);
  tree.deb(deb, {
    control: {
      Package: 'lcc',
      Version: version,
      Architecture: DEBIAN_ARCH,
      Maintainer: MAINTAINER,
      Section: 'web',
      Priority: 'optional',
      // Its users, its folder, and sd_notify.
      Depends: `${sharedLibraries(work, [node, ...compiled])}, systemd`,
      Conflicts: 'lcc-cp',
      Replaces: 'lcc-cp',
      Description: `Local Content Cache: push-driven web caching\n${ABOUT}`,
    },
    scripts: Object.fromEntries(
      ['postinst', 'prerm', 'postrm'].map(name => [name, read(`scripts/pack/debian/${name}`)]),
    ),
    conffiles: ['/etc/lcc/lcc.toml'],
    epoch,
    isFast,
  });
  return deb;
}
