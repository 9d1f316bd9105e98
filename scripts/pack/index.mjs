// npm run pack: everything that is installed, from what the build has made, into dist/packages: lcc-cp for machines with and
// without Node, lcc as a Debian package and for npm. The same tree makes the same bytes.
//
//   node scripts/pack/index.mjs [--fast] [--out=DIR] [site|lcc|npm …]   all of them when none is named; --fast compresses nothing, for
//                                                                       tests
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellCommands } from '../completions.mjs';
import { packLcc } from './lcc.mjs';
import { packNpm } from './npm.mjs';
import { strippedNode } from './runtime.mjs';
import { packSite } from './site.mjs';
import { epochOf } from './tree.mjs';
import { VERSION } from '../../dist/src/commands/version.js';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const words = process.argv.slice(2);
const wanted = words.filter(word => !word.startsWith('--'));
const isWanted = name => wanted.length === 0 || wanted.includes(name);

const given = words.find(word => word.startsWith('--out='))?.slice('--out='.length);
const out = given === undefined ? join(root, 'dist/packages') : resolve(given);
const work = join(out, 'work');
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
// Those of another release would be handed out beside ours.
const isOld = name => /^lcc(-cp)?[-_]\d/.test(name) && (wanted.length === 0 || !name.includes(VERSION));
for (const old of readdirSync(out).filter(isOld)) rmSync(join(out, old));

const node = join(work, 'node');
strippedNode(node);
const common = {
  root,
  out,
  node,
  version: VERSION,
  epoch: epochOf(root),
  isFast: words.includes('--fast'),
  shell: await shellCommands(root),
};
const made = [];
if (isWanted('site')) made.push(...(await packSite({ ...common, work: join(work, 'site') })));
if (isWanted('npm')) made.push(...packNpm(common));
// The Registration Server hands out what sites install.
const site = readdirSync(out).filter(name => /^lcc-cp.*\.(deb|tar\.gz)$/.test(name));
if (isWanted('lcc'))
  made.push(packLcc({ ...common, work: join(work, 'lcc'), site: site.map(name => join(out, name)) }));
rmSync(work, { recursive: true });
for (const file of made) console.log(file);
