/** What npm makes of us: the package for sites, which needs nothing but Node, and the whole. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { builtinModules } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ROOT } from '../support/tree.js';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'cp-package-')));
after(() => rmSync(dir, { recursive: true }));
const NPM_ENV = {
  ...process.env,
  HOME: dir,
  npm_config_cache: join(dir, 'cache'),
  npm_config_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  npm_config_update_notifier: 'false',
};
const COMMANDS = ['feed2url', 'file2url', 'lcccp', 'lcccpstate', 'lccregister', 'sitemap2url'];

function npm(...args: string[]): string {
  const done = spawnSync('npm', args, { cwd: dir, env: NPM_ENV, encoding: 'utf8' });
  assert.equal(done.status, 0, done.stderr);
  return done.stdout;
}

/** The file that npm makes of a folder, and the names in it. */
function packed(folder: string, ...args: string[]): { file: string; names: string[] } {
  const [made] = JSON.parse(npm('pack', '--json', '--ignore-scripts', ...args, folder)) as [
    { filename: string; files: { path: string }[] },
  ];
  return { file: join(dir, made.filename), names: made.files.map(({ path }) => path) };
}

const site = join(dir, 'site');
mkdirSync(site);
writeFileSync(join(site, 'a.html'), '<p>a');
writeFileSync(join(site, 'b.html'), '<p>b');

/** The pipeline of a site, with the commands below a folder and no others of ours. */
function pushes(bin: string, state: string): void {
  const line = `file2url --md5 --find . -name '*.html' | lcccpstate --statefile="$1" | lcccp --dry-run`;
  const done = spawnSync('bash', ['-o', 'pipefail', '-c', line, 'bash', state], {
    cwd: site,
    env: { HOME: dir, PATH: `${bin}:/usr/local/bin:/usr/bin:/bin` },
    encoding: 'utf8',
  });
  assert.equal(done.status, 0, done.stderr);
  assert.match(done.stdout, /<url curl="a\.html" mimetype="text\/html" md5="[0-9a-f]{32}" len="4"/);
  assert.match(done.stderr, /lcccp: 2 urls would be sent\n/);
}

const cp = packed(join(ROOT, 'dist/lcc-cp'));
/** Names in the whole package. */
const { names: wholeNames } = packed(ROOT, '--dry-run');

test('the package for sites has the commands of a site, their manual, no dependency and nothing to compile', () => {
  const manifest = JSON.parse(readFileSync(join(ROOT, 'dist/lcc-cp/package.json'), 'utf8')) as Record<
    string,
    unknown
  >;
  for (const key of ['dependencies', 'optionalDependencies', 'scripts'])
    assert.equal(manifest[key], undefined);
  assert.deepEqual(Object.keys(manifest['bin'] as object).sort(), COMMANDS);
  assert.ok(cp.names.length < 36, cp.names.join(' '));
  for (const name of cp.names.filter(path => /^dist\/bin\/.*\.cjs$/.test(path))) {
    const code = readFileSync(join(ROOT, 'dist/lcc-cp', name), 'utf8');
    const required = [...code.matchAll(/\brequire\d*\("([^".][^"]*)"\)/g)].map(([, module = '']) => module);
    // undici has a name for the first, and asks for it where it is used, which is not here. Both need their scheme.
    const known = [...builtinModules, 'sqlite', 'sea'];
    const foreign = required.filter(module => !known.includes(module.replace(/^node:/, '')));
    assert.deepEqual(foreign, [], name);
  }
});

test('the package for sites is installed into an empty folder without a registry, and runs', () => {
  const prefix = join(dir, 'local');
  mkdirSync(prefix);
  npm('install', '--prefix', prefix, cp.file);
  assert.deepEqual(
    readdirSync(join(prefix, 'node_modules')).filter(name => !name.startsWith('.')),
    ['lcc-cp'],
  );
  pushes(join(prefix, 'node_modules/.bin'), join(dir, 'local-state'));
});

test('the package for sites is installed for everybody, with a manual that man finds', () => {
  const prefix = join(dir, 'global');
  npm('install', '-g', '--prefix', prefix, cp.file);
  assert.deepEqual(readdirSync(join(prefix, 'bin')).sort(), COMMANDS);
  pushes(join(prefix, 'bin'), join(dir, 'global-state'));
  for (const page of [
    'man1/file2url.1',
    'man1/lcccpstate.1',
    'man1/lcccp.1',
    'man7/lcc-codes.7',
    'man5/lcc.toml.5',
  ])
    assert.ok(existsSync(join(prefix, 'share/man', page)), page);
  if (spawnSync('sh', ['-c', 'command -v man']).status === 0) {
    const shown = spawnSync('man', ['-M', join(prefix, 'share/man'), '-w', 'lcccp'], { encoding: 'utf8' });
    assert.match(shown.stdout, /\/lcccp\.1\n$/);
  }
});

test('the build has made the same file, which lccd-rs serves, and the whole package has it', () => {
  assert.deepEqual(readFileSync(join(ROOT, 'dist/bin/lcc-cp.tgz')), readFileSync(cp.file));
  assert.ok(wholeNames.includes('dist/bin/lcc-cp.tgz'));
});

test('both packages have the notices of the packages whose code is in them', () => {
  assert.ok(cp.names.includes('dist/bin/THIRD-PARTY.txt'));
  assert.ok(wholeNames.includes('dist/bin/THIRD-PARTY.txt'));
  const notices = readFileSync(join(ROOT, 'dist/bin/THIRD-PARTY.txt'), 'utf8');
  // Names of packages that are known to be in a bundle: what nearly every command loads, and what is loaded by a few.
  for (const name of ['commander', 'undici', 'hono', 'htmlparser2', 'saxes', 'smol-toml', 'ipaddr.js'])
    assert.match(notices, new RegExp(`^${name} \\d+\\.\\S+ \\(`, 'm'), name);
  const parts = notices.split(/^-{78}$/m).slice(1);
  assert.ok(parts.length > 20);
  for (const part of parts) {
    assert.match(part, /^\s*@?[\w./-]+ \d+\.\d+\.\S+ \(.+\)\n/);
    assert.match(
      part,
      /Permission|Redistribution|Apache License|Unlicense|public domain/i,
      part.slice(0, 80),
    );
  }
});

test('the whole package has neither tests nor benches, nor the folder of the package for sites', () => {
  const unwanted = wholeNames.filter(path => /^(?:dist\/)?(?:test|bench|lcc-cp|src\/.*\.test)\b/.test(path));
  assert.deepEqual(
    unwanted.filter(path => !path.startsWith('src/')),
    [],
  );
  for (const path of [
    'bin/lccd',
    'dist/bin/lccd.cjs',
    'dist/lib/index.js',
    'dist/lib/index.d.ts',
    'dist/completions/bash/lcc',
    'examples/systemd/lccd.service',
    'man/lcc.7',
  ])
    assert.ok(wholeNames.includes(path), path);
});

test('the whole package has what is run and its manual, and of packages only those that are loaded by name', () => {
  const parts =
    /^(bin|dist\/bin|dist\/lib|dist\/completions|man|examples)\/|^(README\.md|LICENSE|package\.json)$/;
  assert.deepEqual(
    wholeNames.filter(path => !parts.test(path) || /\.bundle\.cjs\.|\.main\.cjs$/.test(path)),
    [],
  );
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, object>;
  const installed = [
    ...Object.keys(manifest['dependencies'] ?? {}),
    ...Object.keys(manifest['optionalDependencies'] ?? {}),
  ];
  assert.deepEqual(installed, ['mariadb', 'prom-client', 'better-sqlite3', 'better-sqlite3-13']);
  for (const name of wholeNames.filter(path => /^dist\/(bin|lib)\/.*\.c?js$/.test(path))) {
    const code = readFileSync(join(ROOT, name), 'utf8');
    const loaded = [...code.matchAll(/(?:\brequire\d*\(|^import [^\n]*\bfrom |\bimport\()"([^".][^"]*)"/gm)];
    const foreign = loaded
      .map(([, module = '']) => module.replace(/^node:/, ''))
      .filter(module => ![...builtinModules, 'sqlite', 'sea', ...installed].includes(module));
    assert.deepEqual(foreign, [], name);
  }
});
