/** lcc-cp for machines without Node: one executable, as its packages install it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { VERSION } from '../../src/commands/version.js';
import { noPacking, Packed } from './support.js';

const SITE = ['feed2url', 'file2url', 'lcccp', 'lcccpstate', 'lccregister', 'sitemap2url'];

describe('lcc-cp without Node', { skip: noPacking() }, () => {
  const packed = new Packed();
  /** What it is unpacked into. */
  const prefix = join(packed.dir, 'local');
  const bin = join(prefix, 'bin');
  /** All that there is on this machine besides. */
  const tools = join(packed.dir, 'tools');

  before(() => {
    packed.make(['site']);
    mkdirSync(prefix);
    mkdirSync(tools);
    for (const tool of ['find', 'sh']) symlinkSync(`/usr/bin/${tool}`, join(tools, tool));
    const archive = packed.file(/\.tar\.gz$/);
    const done = spawnSync('tar', ['-xzf', archive, '--strip-components=1', '-C', prefix], {
      encoding: 'utf8',
    });
    assert.equal(done.stderr, '');
  });
  after(() => packed.remove());

  const run = (name: string, args: string[], input = '') =>
    spawnSync(join(bin, name), args, { input, encoding: 'utf8', env: {}, cwd: prefix });

  it('delivers by the crontab line of the guide, on a machine without Node', async () => {
    const site = await TestSite.listen();
    const lcc = new Lcc(`${site.url}/`);
    try {
      await lcc.start();
      const docroot = join(lcc.dir, 'www');
      mkdirSync(docroot);
      for (const name of ['index.html', 'second.html']) {
        site.pages.set(`/${name}`, `<p>${name}`);
        writeFileSync(join(docroot, name), `<p>${name}`);
      }
      await lcc.run(`(umask 077; lccpidb add --pid=7 --root=${site.url}/ > site.pwd)`);
      copyFileSync(join(lcc.dir, 'site.pwd'), join(lcc.dir, '.lcc-password'));
      const [, line = ''] = /^ {4}(?:\S+ ){5}(cd .*)$/m.exec(readProjectFile('docs/guide/site.md')) ?? [];
      const here = line
        .replaceAll(/https?:\/\/www\.example\.org\//g, `${site.url}/`)
        .replace('tls:lcc.example.org:9443', lcc.uns)
        .replace('/var/www', docroot);
      const env = { HOME: lcc.dir, PATH: `${bin}:${tools}` };
      assert.notEqual(spawnSync('sh', ['-c', 'command -v node'], { env }).status, 0);
      const cron = () => spawnSync('sh', ['-c', here], { env, encoding: 'utf8' });
      const first = cron();
      assert.deepEqual([first.status, first.stdout, first.stderr], [0, '', '']);
      await lcc.idle();
      rmSync(join(docroot, 'second.html'));
      assert.equal(cron().stderr, '');
      await lcc.idle();
      assert.equal(await lcc.run('lccq --format=urls'), `${site.url}/index.html\n`);
    } finally {
      await lcc.remove();
      site.close();
    }
  });

  it('is each command by its name, and by the first argument under any other', () => {
    assert.deepEqual(
      readdirSync(bin).filter(name => lstatSync(join(bin, name)).isSymbolicLink()),
      SITE,
    );
    copyFileSync(join(bin, 'lcc-cp'), join(prefix, 'renamed'));
    for (const name of SITE) {
      assert.equal(readlinkSync(join(bin, name)), 'lcc-cp');
      const version = `${name} (LCC) ${VERSION}\n`;
      assert.equal(run(name, ['--version']).stdout, version);
      assert.equal(run('lcc-cp', [name, '--version']).stdout, version);
    }
    assert.equal(run('../renamed', ['lcccp', '--version']).stdout, `lcccp (LCC) ${VERSION}\n`);
    assert.match(run('file2url', ['--', 'bin/lcc-cp']).stdout, /curl="bin\/lcc-cp"/);
    assert.match(run('lcc-cp', ['file2url', '--', 'bin/lcc-cp']).stdout, /curl="bin\/lcc-cp"/);
    assert.equal(run('lcccpstate', ['--statefile']).status, 64);
  });

  it('says what it is, and what it has, where no command of a site is named', () => {
    assert.equal(run('lcc-cp', ['--version']).stdout, `lcc-cp (LCC) ${VERSION}\n`);
    const help = run('lcc-cp', ['--help']);
    assert.deepEqual([help.status, help.stderr], [0, '']);
    for (const name of SITE) assert.match(help.stdout, new RegExp(`^  ${name} +[A-Z]`, 'm'));
    const none = run('lcc-cp', []);
    assert.deepEqual([none.status, none.stdout], [64, '']);
    assert.match(none.stderr, /^lcc-cp: no command is named; give one of file2url, .*\n$/);
    const other = run('lcc-cp', ['lccq', '--version']);
    assert.equal(other.status, 64);
    assert.match(other.stderr, /^lcc-cp: "lccq" is no command of a site; give one of .*\n$/);
    const closed = spawnSync('bash', ['-c', `${bin}/lcc-cp --help | true; echo \${PIPESTATUS[0]}`], {
      encoding: 'utf8',
    });
    assert.deepEqual([closed.stdout, closed.stderr], ['0\n', '']);
  });

  it('says the same as the commands under Node, with threads, too', () => {
    const script = (name: string, args: string[], input = '') =>
      spawnSync(join(ROOT, 'bin', name), args, { input, encoding: 'utf8', cwd: ROOT });
    const here = (name: string, args: string[], input = '') =>
      spawnSync(join(bin, name), args, { input, encoding: 'utf8', cwd: ROOT, env: {} });
    const names = spawnSync('find', ['src', '-name', '*.ts'], { cwd: ROOT, encoding: 'utf8' }).stdout;
    const sitemap =
      '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://h/a</loc></url></urlset>';
    const feed =
      '<rss version="2.0"><channel><title>t</title><item><link>http://h/a</link></item></channel></rss>';
    for (const [name, args, input] of [
      ['file2url', ['--md5', '--jobs=3'], names],
      ['sitemap2url', ['-'], sitemap],
      ['feed2url', ['-'], feed],
      ['lcccp', ['--dry-run'], '<url curl="http://h/" mimetype="text/html"/>'],
      ['lcccp', ['--uns=127.0.0.1:1', '--pid=1', '--pwd=x'], '<url curl="http://h/" mimetype="text/html"/>'],
      ['lccregister', ['nothing'], ''],
    ] as const) {
      const [ours, theirs] = [here(name, [...args], input), script(name, [...args], input)];
      assert.deepEqual(
        [ours.status, ours.stdout, ours.stderr],
        [theirs.status, theirs.stdout, theirs.stderr],
        name,
      );
      if (name === 'file2url')
        assert.equal(ours.stdout.match(/md5=/g)?.length, names.trim().split('\n').length);
    }
  });

  it('needs the C and C++ libraries of the system, and nothing else', () => {
    const { stdout } = spawnSync('objdump', ['-p', join(bin, 'lcc-cp')], { encoding: 'utf8' });
    const needed = [...stdout.matchAll(/NEEDED +(\S+)/g)].map(([, name]) => name);
    assert.ok(needed.includes('libc.so.6'));
    for (const name of needed)
      assert.match(String(name), /^(lib(c|m|dl|pthread|stdc\+\+|gcc_s)|ld-linux-[\w-]+)\.so\.\d$/);
  });

  it('brings manual, completions, licences and the lines for cron; its Debian package the same', () => {
    const { size } = lstatSync(join(bin, 'lcc-cp'));
    assert.ok(size > 1 << 20);
    const deb = packed.listing(packed.file(/^lcc-cp_.*\.deb$/)).map(line => line.split(/\s+/));
    const inDeb = new Set(deb.map(([, , , , , name = '']) => name.replace(/^\.\/usr/, '')));
    for (const path of [
      'bin/lcc-cp',
      ...SITE.map(name => `bin/${name}`),
      ...SITE.map(name => `share/man/man1/${name}.1.gz`),
      'share/man/man1/lcc-cp.1.gz',
      'share/man/man7/lcc-codes.7.gz',
      ...SITE.map(name => `share/bash-completion/completions/${name}`),
      ...SITE.map(name => `share/fish/vendor_completions.d/${name}.fish`),
      'share/doc/lcc-cp/copyright',
      'share/doc/lcc-cp/THIRD-PARTY.txt.gz',
      'share/doc/lcc-cp/examples/cron',
    ]) {
      assert.ok(existsSync(join(prefix, path)), path);
      assert.ok(inDeb.has(`/${path}`), path);
    }
    assert.ok(existsSync(join(prefix, 'share/zsh/site-functions/_lcc')));
    assert.ok(inDeb.has('/share/zsh/vendor-completions/_lcc'));
    assert.match(readFileSync(join(prefix, 'share/doc/lcc-cp/copyright'), 'utf8'), /Node\.js is licensed/);
    for (const [, owner] of deb) assert.equal(owner, 'root/root');
  });
});
