// The package for sites: the commands of a content provider and their manual, made of what the build has made, without
// dependencies. The build writes the folder dist/lcc-cp, and of it the file dist/bin/lcc-cp.tgz, which lccd-rs serves; `npm run
// pack:cp` makes the same file here, with the version in its name. npm installs it anywhere.
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const target = join(root, 'dist/lcc-cp');

export const CP_COMMANDS = ['file2url', 'sitemap2url', 'feed2url', 'lcccpstate', 'lcccp', 'lccregister'];
/** What the manuals of these refer to is there as well. */
export const CP_MANUALS = [
  'file2url.1',
  'sitemap2url.1',
  'feed2url.1',
  'lcccpstate.1',
  'lcccp.1',
  'lccregister.1',
  'lcc.7',
  'lcc-codes.7',
  'lcc-protocol.5',
  'lcc.toml.5',
];

const README = `# lcc-cp

The commands of a site whose pages an LCC (Local Content Cache) holds: \`file2url\` describes files, \`sitemap2url\` and \`feed2url\` what sitemaps and feeds name, \`lcccpstate\` tells what
changed since the last accepted delivery, \`lcccp\` delivers it, \`lccregister\` makes a site a provider. They need Node 20.19 or later, and nothing else.

    npm install -g ./lcc-cp-VERSION.tgz
    man lcccp

    cd /var/www
    file2url --find . -name '*.html' |
        lcccpstate --statefile=$HOME/lcc.state |
        lcccp --uns=tls:lcc.example.org:9443 --pid=7 --pwdfile=$HOME/.lcc-password \\
              --urlprefix=http://www.example.org/

\`examples/cron\` has the line for cron. Licence: GPL-3.0-or-later; \`dist/bin/THIRD-PARTY.txt\` has those of the packages in it.
`;

export function writeCpPackage() {
  const { version, license, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  rmSync(target, { recursive: true, force: true });
  for (const folder of ['bin', 'dist/bin', 'man', 'examples'])
    mkdirSync(join(target, folder), { recursive: true });
  const copy = path => copyFileSync(join(root, path), join(target, path));
  for (const name of [...CP_COMMANDS, 'not-built.cjs', 'package.json']) copy(`bin/${name}`);
  // Cached code is of one Node: without it a bundle is started as it is.
  for (const name of CP_COMMANDS)
    copyFileSync(join(root, `dist/bin/${name}.bundle.cjs`), join(target, `dist/bin/${name}.cjs`));
  for (const name of ['hash-worker.cjs', 'package.json']) copy(`dist/bin/${name}`);
  for (const page of CP_MANUALS) copy(`man/${page}`);
  copy('examples/cron');
  copy('LICENSE');
  copy('dist/bin/THIRD-PARTY.txt');
  writeFileSync(join(target, 'README.md'), README.replace('VERSION', version));
  const manifest = {
    name: 'lcc-cp',
    version,
    description:
      'What a site needs to tell a Local Content Cache what changed: file2url, sitemap2url, feed2url, lcccpstate, lcccp.',
    license,
    bin: Object.fromEntries(CP_COMMANDS.map(name => [name, `bin/${name}`])),
    man: CP_MANUALS.map(page => `man/${page}`),
    files: ['bin', 'dist', 'man', 'examples'],
    engines,
  };
  writeFileSync(join(target, 'package.json'), `${JSON.stringify(manifest, undefined, 2)}\n`);
  const bin = join(root, 'dist/bin');
  const args = ['pack', target, '--pack-destination', bin, '--ignore-scripts', '--offline', '--silent'];
  const { status, stderr } = spawnSync('npm', args, { cwd: bin, encoding: 'utf8' });
  if (status === 0) renameSync(join(bin, `lcc-cp-${version}.tgz`), join(bin, 'lcc-cp.tgz'));
  else console.error(`build: npm pack fails: lccd-rs serves no package for sites\n${stderr ?? ''}`);
}
