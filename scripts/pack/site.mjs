// lcc-cp for machines without Node: one executable, links to it with the names of the commands, manual and completions, as a tar.gz
// and as a Debian package.
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { bashOf, fishFiles, zshOf } from '../completions.mjs';
import { CP_COMMANDS, CP_MANUALS } from '../cp-package.mjs';
import { changelogOf, copyrightOf, MAINTAINER } from './papers.mjs';
import { DEBIAN_ARCH, sharedLibraries, siteExecutable } from './runtime.mjs';
import { Tree } from './tree.mjs';

const ABOUT = ` A site tells a Local Content Cache which of its pages are new, changed or gone,
 from cron, by three filters and a pipe. This package has all commands of the
 site in one executable, which needs neither Node nor anything else.`;

/** @returns paths of what it has made */
export async function packSite({ root, out, work, node, version, epoch, isFast, shell }) {
  const ofSite = CP_COMMANDS.map(name => shell.find(command => command.name === name));
  const summaries = Object.fromEntries(ofSite.map(({ name, summary }) => [name, summary]));
  const file = join(work, 'lcc-cp');
  mkdirSync(work, { recursive: true });
  await siteExecutable({ bin: join(root, 'dist/bin'), summaries, node, work, file });

  /** @param zsh folder of its functions */
  const install = (tree, prefix, zsh) => {
    tree.copy(file, join(prefix, 'bin/lcc-cp'), 0o755);
    for (const name of CP_COMMANDS) tree.link('lcc-cp', join(prefix, 'bin', name));
    for (const page of ['lcc-cp.1', ...CP_MANUALS])
      tree.gzip(join(prefix, `share/man/man${page.at(-1)}`, page), readFileSync(join(root, 'man', page)));
    const share = join(prefix, 'share');
    tree.write(join(share, 'bash-completion/completions/lcc-cp'), bashOf(ofSite, CP_COMMANDS));
    for (const name of CP_COMMANDS) tree.link('lcc-cp', join(share, 'bash-completion/completions', name));
    tree.write(join(share, zsh, '_lcc'), zshOf(ofSite, CP_COMMANDS));
    for (const [name, text] of fishFiles(ofSite, CP_COMMANDS))
      tree.write(join(share, 'fish/vendor_completions.d', `${name}.fish`), text);
    const doc = join(share, 'doc/lcc-cp');
    tree.write(join(doc, 'copyright'), copyrightOf(root));
    tree.gzip(join(doc, 'THIRD-PARTY.txt'), readFileSync(join(root, 'dist/bin/THIRD-PARTY.txt')));
    tree.copy(join(root, 'examples/cron'), join(doc, 'examples/cron'));
    return doc;
  };

  const top = `lcc-cp-${version}`;
  const loose = new Tree(join(work, 'tar'));
  install(loose, top, 'zsh/site-functions');
  loose.copy(join(root, 'LICENSE'), join(top, 'share/doc/lcc-cp/LICENSE'));
  const archive = join(out, `${top}-linux-${process.arch}.tar.gz`);
  loose.tar(archive, top, { epoch, level: isFast ? 0 : 9 });

  const debian = new Tree(join(work, 'deb'));
  const doc = install(debian, 'usr', 'zsh/vendor-completions');
  debian.gzip(join(doc, 'changelog'), changelogOf('lcc-cp', version, epoch));
  debian.copy(
    join(root, 'scripts/pack/debian/lcc-cp.lintian-overrides'),
    'usr/share/lintian/overrides/lcc-cp',
  );
  const deb = join(out, `lcc-cp_${version}_${DEBIAN_ARCH}.deb`);
  debian.deb(deb, {
    control: {
      Package: 'lcc-cp',
      Version: version,
      Architecture: DEBIAN_ARCH,
      Maintainer: MAINTAINER,
      Section: 'web',
      Priority: 'optional',
      Depends: sharedLibraries(work, [file]),
      // The package of a whole LCC has the same commands.
      Conflicts: 'lcc',
      Replaces: 'lcc',
      Description: `commands of a site for a Local Content Cache\n${ABOUT}`,
    },
    epoch,
    isFast,
  });
  return [archive, deb].filter(existsSync);
}
