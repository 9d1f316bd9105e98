import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { runBin } from '../support/command.js';
import { decodePath, HOSTILE_NAMES } from '../support/hostile-names.js';
import { AS_OTHER_USER, noOtherUser } from '../support/other-user.js';
import { readProjectFile, ROOT } from '../support/tree.js';

const dir = realpathSync(mkdtempSync(join(tmpdir(), 'file2url-')));
after(() => rmSync(dir, { recursive: true }));
const FILE2URL = join(ROOT, 'bin/file2url');
const NGINX_TYPES = '/etc/nginx/mime.types';
const HEAD = '<?lcc from="file2url"?>\n';
const END = '<?lcc end?>\n';

const site = join(dir, 'site');
mkdirSync(join(site, 'guide'), { recursive: true });
for (const [name, content] of [
  ['guide/index.html', '<p>guide'],
  ['logo.png', 'png'],
  ['README', 'read me'],
  ['photo.JPG', 'jpg'],
] as const) {
  writeFileSync(join(site, name), content);
  utimesSync(join(site, name), 0, 1_790_000_000.9);
}
const MTIME = '2026-09-21T14:13:20Z';

function run(args: string[], options: { input?: string | Buffer; cwd?: string } = {}) {
  const { status, stdout, stderr } = runBin('file2url', args, { cwd: site, ...options });
  return { status, stdout: stdout.toString('latin1'), stderr };
}

function latin1(names: readonly string[], separator: string): Buffer {
  return Buffer.from(names.map(name => name + separator).join(''), 'latin1');
}

test('describes the files named on stdin, one a line, between the two marks of the stream', () => {
  assert.deepEqual(run([], { input: './guide/index.html\nlogo.png\nREADME\nphoto.JPG' }), {
    status: 0,
    stderr: '',
    stdout:
      HEAD +
      `<url curl="guide/index.html" mimetype="text/html" len="8" mtime="${MTIME}"/>\n` +
      `<url curl="logo.png" mimetype="image/png" len="3" mtime="${MTIME}"/>\n` +
      `<url curl="README" mimetype="application/octet-stream" len="7" mtime="${MTIME}"/>\n` +
      `<url curl="photo.JPG" mimetype="image/jpeg" len="3" mtime="${MTIME}"/>\n` +
      END,
  });
});

test('--md5 tells the md5 of the content', () => {
  const md5 = createHash('md5').update('<p>guide').digest('hex');
  assert.equal(
    run(['--md5'], { input: 'guide/index.html\n' }).stdout,
    `${HEAD}<url curl="guide/index.html" mimetype="text/html" md5="${md5}" len="8" mtime="${MTIME}"/>\n${END}`,
  );
});

test('--type and --default-type decide, the last word of several', () => {
  const done = run(
    ['--type', 'png=image/x-own', '--type=.HTML=application/xhtml+xml', '--default-type=text/plain'],
    {
      input: 'guide/index.html\nlogo.png\nREADME\n',
    },
  );
  assert.deepEqual(
    [...done.stdout.matchAll(/mimetype="([^"]*)"/g)].map(m => m[1]),
    ['application/xhtml+xml', 'image/x-own', 'text/plain'],
  );
  for (const bad of ['png', 'png=', 'png=image', 'a.b=image/png', 'png=image/png=x', '=image/png'])
    assert.equal(run([`--type=${bad}`]).status, 64, bad);
  assert.equal(run(['--default-type=html']).status, 64);
});

test('names may follow --, or be found by find(1), whose expression is taken whole', () => {
  const expected = run([], { input: 'guide/index.html\nlogo.png\n' }).stdout;
  assert.equal(run(['--', 'guide/index.html', 'logo.png']).stdout, expected);
  const found = run(['--docroot=site', '--find', 'site', '-name', '*.html', '-o', '-name', '*.png'], {
    cwd: dir,
  });
  assert.equal(found.status, 0);
  assert.deepEqual(found.stdout.split('\n').sort(), expected.split('\n').sort());
});

test('curl is the name below the document root; a name outside is refused, the rest goes on, exit 1', () => {
  const done = run(['--docroot', site], {
    cwd: '/',
    input: `${site}/logo.png\n/etc/passwd\n${site}/../x\n${site}2/y\n${site}/guide/index.html\n`,
  });
  assert.deepEqual(
    [...done.stdout.matchAll(/curl="([^"]*)"/g)].map(m => m[1]),
    ['logo.png', 'guide/index.html'],
  );
  assert.equal(done.status, 1);
  assert.match(done.stderr, /^file2url: \/etc\/passwd: not below the document root .*\n.*\n.*\n$/);
  const input = Array.from({ length: 40 }, (_, i) => `/etc/${i}\n`).join('');
  const many = run(['--docroot', site], { cwd: '/', input });
  assert.equal(many.status, 1);
  assert.match(
    many.stderr,
    /^(?:file2url: \/etc\/\d: not below .*\n){5}file2url: 35 more names not below the document root .*; -v reports each\n$/,
  );
  assert.match(
    run(['-v', '--docroot', site], { cwd: '/', input }).stderr,
    /^(?:.*: not below .*\n){40}.* refused .*\n$/,
  );
  assert.ok(done.stdout.endsWith(END));
});

test('vanished files are skipped with a warning, directories and other things without one', () => {
  const tree = join(dir, 'odd');
  mkdirSync(join(tree, 'sub'), { recursive: true });
  spawnSync('mkfifo', [join(tree, 'pipe')]);
  symlinkSync('nowhere', join(tree, 'dangling'));
  symlinkSync('there', join(tree, 'loop'));
  symlinkSync('loop', join(tree, 'there'));
  symlinkSync('../site/logo.png', join(tree, 'link.png'));
  for (const md5 of [[], ['--md5']]) {
    const done = run(md5, {
      cwd: tree,
      input: 'gone.html\nsub\npipe\n/dev/null\ndangling\nloop\nlink.png\n\n',
    });
    assert.deepEqual(
      [...done.stdout.matchAll(/curl="([^"]*)"/g)].map(m => m[1]),
      ['link.png'],
    );
    assert.match(done.stderr, /gone\.html: there is no such file, or none any more; skipped\n/);
    assert.match(done.stderr, /dangling: a symbolic link to nothing; skipped\n/);
    assert.match(done.stderr, /loop: symbolic links that lead in a circle; skipped\n/);
    assert.doesNotMatch(done.stderr, /sub|pipe/);
  }
});

test('any name a Linux file can have survives, from stdin, from -- and from find, with and without md5', () => {
  const tree = join(dir, 'hostile');
  mkdirSync(tree);
  for (const name of HOSTILE_NAMES) writeFileSync(Buffer.from(`${tree}/${name}`, 'latin1'), name, 'latin1');
  const expected = [...HOSTILE_NAMES].sort();
  const namesIn = (xml: string) =>
    [...xml.matchAll(/^<url curl="([^"]*)" mimetype="[^"]*" (?:md5="\w*" )?len="\d+" mtime="[^"]*"\/>$/gm)]
      .map(m => decodePath((m[1] ?? '').replaceAll('&amp;', '&')))
      .sort();
  for (const done of [
    run(['-0'], { cwd: tree, input: latin1(HOSTILE_NAMES, '\0') }),
    run(['--md5', '--find', '.', '-type', 'f'], { cwd: tree }),
    run(['-0', '--docroot', tree], {
      cwd: '/',
      input: latin1(
        HOSTILE_NAMES.map(n => `${tree}/${n}`),
        '\0',
      ),
    }),
  ]) {
    assert.equal(done.stderr, '');
    assert.equal(done.status, 0);
    assert.match(done.stdout, /^[\n\x20-\x7e]*$/);
    assert.deepEqual(namesIn(done.stdout), expected);
  }
  // Node hands arguments over decoded; the shell's own bytes must arrive all the same.
  const script = `cd "$1" && shift && "$@" -- ./* .h* ...`;
  const done = spawnSync('bash', ['-c', script, 'bash', tree, FILE2URL], {
    env: { ...process.env, LC_ALL: 'C' },
  });
  assert.deepEqual(namesIn(done.stdout.toString('latin1')), expected);
  // … also in the name of the document root.
  const spawned = spawnSync('bash', [
    '-c',
    `mkdir -p "$1"/$'d\\xe9p' && cd "$1" && echo x > $'d\\xe9p/a.html' && printf 'd\\xe9p/a.html' | "$2" --docroot=$'d\\xe9p'`,
    'bash',
    dir,
    FILE2URL,
  ]);
  assert.deepEqual(namesIn(spawned.stdout.toString('latin1')), ['a.html']);
});

test('arguments of find that are not UTF-8 reach it as they are, and each of several', () => {
  const tree = join(dir, 'bytes');
  const script = `mkdir "$1" && cd "$1" && touch $'d\\xe9.html' $'d\\xe8.html' $'d\\xe7.html' $'line\\n'
    "$2" --find . -name $'*\\xe9*' -o -name $'*\\xe8*' -o -name $'line\\n' &&
    "$2" --md5 --find $'./d\\xe7.html' $'./d\\xe8.html' && "$2" -- $'d\\xe8.html' $'d\\xe9.html'`;
  const done = spawnSync('bash', ['-c', script, 'bash', tree, FILE2URL]);
  assert.equal(done.stderr.toString(), '');
  const found = [...done.stdout.toString().matchAll(/curl="([^"]*)"/g)].map(m => m[1]);
  assert.deepEqual(new Set(found.slice(0, 3)), new Set(['d%E8.html', 'd%E9.html', 'line%0A']));
  assert.deepEqual(found.slice(3), ['d%E7.html', 'd%E8.html', 'd%E8.html', 'd%E9.html']);
  const failed = spawnSync('bash', ['-c', `"$1" --find $'\\xe9'`, 'bash', FILE2URL]);
  assert.equal(failed.status, 74);
  assert.match(
    failed.stderr.toString(),
    /find ended with status 1: the list of files is not whole; mend what find says, or have it/,
  );
});

test('what -exec prints is not taken for names: the stream stays without its end', () => {
  const none = run(['--find', '.', '-exec', 'echo', '{}', ';']);
  assert.equal(none.status, 64);
  assert.equal(none.stdout, '<?lcc-failed status="64"?>\n');
  assert.match(none.stderr, /with -exec find prints no names; add -print at the end/);
  for (const md5 of [[], ['--md5']])
    for (const what of [['echo', '{}'], ['echo'], ['printf', 'x'], ['cat', '{}']]) {
      const mixed = run([...md5, '--find', '.', '-type', 'f', '-exec', ...what, ';', '-print']);
      assert.equal(mixed.status, 74, what.join(' '));
      assert.ok(!mixed.stdout.includes(END));
      assert.match(mixed.stderr, /there is no such file; does what -exec runs print\?/);
    }
  const quiet = run(['--find', '.', '-type', 'f', '-exec', 'grep', '-q', 'guide', '{}', ';', '-print']);
  assert.equal(quiet.status, 0, quiet.stderr);
  assert.match(quiet.stdout, /curl="guide\/index\.html"/);
});

test('-v says what is run and how many files there were', () => {
  const done = run(['-v', '--find', '.', '-name', '*.png']);
  assert.match(
    done.stderr,
    /^file2url: runs find \. .*\( -name \*\.png \) .*\nfile2url: 1 described, 0 gone, 0 refused or without md5\n$/,
  );
  assert.match(
    run(['-v'], { input: 'logo.png\nnone\n/etc/passwd\n' }).stderr,
    /: 1 described, 1 gone, 1 refused/,
  );
});

test('find dying half-way, or a tree that cannot be read, leaves the stream without its end', () => {
  const tree = join(dir, 'torn');
  mkdirSync(tree);
  writeFileSync(join(tree, 'a.html'), 'a');
  const killed = run(
    ['--find', '.', '-name', 'a.html', '-print', '-exec', 'sh', '-c', 'kill -9 $PPID', ';'],
    { cwd: tree },
  );
  assert.equal(killed.status, 74);
  assert.ok(killed.stdout.startsWith(HEAD));
  assert.ok(!killed.stdout.includes(END));
  assert.match(
    killed.stderr,
    /^file2url: find ended by signal 9 \(SIGKILL\): the list of files is not whole\n$/,
  );

  const missing = run(['--find', 'a.html', 'no-such-directory'], { cwd: tree });
  assert.equal(missing.status, 74);
  assert.match(missing.stdout, /curl="a\.html"/);
  assert.ok(!missing.stdout.includes(END));
});

test(
  'a file that is there and cannot be looked at leaves the stream without its end',
  { skip: process.getuid?.() === 0 && noOtherUser() },
  () => {
    const tree = join(dir, 'closed');
    mkdirSync(join(tree, 'shut'), { recursive: true });
    writeFileSync(join(tree, 'shut/a.html'), 'a');
    writeFileSync(join(tree, 'secret.html'), 'b');
    chmodSync(join(tree, 'secret.html'), 0o000);
    chmodSync(join(tree, 'shut'), 0o000);
    chmodSync(dir, 0o755);
    const asOther = process.getuid?.() === 0 ? AS_OTHER_USER : [];
    const as = (args: string[], input: string) => {
      const [program = '', ...rest] = [
        ...asOther,
        process.execPath,
        join(ROOT, 'dist/bin/file2url.cjs'),
        ...args,
      ];
      const done = spawnSync(program, rest, { cwd: tree, input });
      return { status: done.status, stdout: done.stdout.toString(), stderr: done.stderr.toString() };
    };
    const shut = as([], 'shut/a.html\n');
    assert.equal(shut.status, 74);
    assert.ok(!shut.stdout.includes(END));
    assert.match(shut.stderr, /shut\/a\.html: EACCES/);

    // Its content is not for us, but it is there: listed without md5, and said so.
    const secret = as(['--md5'], 'secret.html\n');
    assert.equal(secret.status, 1);
    assert.match(secret.stdout, /curl="secret\.html" mimetype="text\/html" len="1"/);
    assert.ok(secret.stdout.endsWith(END));
    assert.match(secret.stderr, /secret\.html: not readable; listed without md5/);
  },
);

test('threads describe thousands of files in the order of their names, the same as one', () => {
  const tree = join(dir, 'many');
  mkdirSync(tree);
  const names = Array.from({ length: 4000 }, (_, i) => `f${i}.html`);
  for (const name of names) writeFileSync(join(tree, name), `content of ${name}`);
  names.splice(3000, 0, 'gone.html');
  const input = names.join('\n');
  const one = run(['--md5', '--jobs=1'], { cwd: tree, input });
  assert.equal(one.stdout.split('\n').length, 4003);
  for (const jobs of ['2', '3'])
    assert.deepEqual(run(['--md5', `--jobs=${jobs}`], { cwd: tree, input }), one);
  for (const bad of ['0', '-1', 'x', '1.5', '65'])
    for (const md5 of [['--md5'], []]) assert.equal(run([...md5, `--jobs=${bad}`]).status, 64);
});

test('a reader that went away ends it silently; a full disk is exit 74', () => {
  const names = 'logo.png\n'.repeat(20_000);
  const cut = spawnSync('bash', ['-c', '"$0" | head -n 3; exit "${PIPESTATUS[0]}"', FILE2URL], {
    cwd: site,
    input: names,
  });
  assert.equal(cut.stderr.toString(), '');
  assert.equal(cut.status, 0);
  assert.equal(cut.stdout.toString().split('\n').length, 4);
  const full = spawnSync('bash', ['-c', '"$0" > /dev/full', FILE2URL], { cwd: site, input: names });
  assert.equal(full.status, 74);
  assert.match(full.stderr.toString(), /^file2url: cannot write standard output: no space left/);
});

test('a document root that is not there is one complaint, whatever is named, with status 66', () => {
  for (const [docroot, why] of [
    ['/nonexist', 'there is no such file'],
    [join(site, 'logo.png'), 'it is no directory; name'],
  ] as const) {
    const done = run(['--docroot', docroot], { input: 'logo.png\nREADME\n' });
    assert.deepEqual([done.status, done.stdout], [66, '<?lcc-failed status="66"?>\n']);
    assert.match(done.stderr, new RegExp(`^file2url: --docroot ${docroot}: ${why}.*\n$`));
  }
});

test('--find -delete is refused before find has run', () => {
  const tree = join(dir, 'precious');
  mkdirSync(tree);
  writeFileSync(join(tree, 'a.html'), 'a');
  const done = run(['--find', tree, '-name', '*.html', '-delete'], { cwd: tree });
  assert.deepEqual([done.status, done.stdout], [64, '<?lcc-failed status="64"?>\n']);
  assert.match(done.stderr, /^file2url: --find: -delete would remove the files/);
  assert.ok(existsSync(join(tree, 'a.html')));
});

test('contradicting or misplaced arguments are usage errors', () => {
  assert.equal(run(['-0', '--find', '.']).status, 64);
  const operand = run(['logo.png']);
  assert.equal(operand.status, 64);
  assert.match(operand.stderr, /names follow --/);
});

test(
  'takes the types of nginx as its manual shows',
  {
    skip: existsSync(NGINX_TYPES) || process.env['CI'] === 'true' ? false : 'no nginx',
  },
  () => {
    const page = readProjectFile('man/file2url.1');
    const shown = /^file2url \$\(awk[^]*?^\.Ed$/m.exec(page)?.[0].replace('.Ed', '') ?? assert.fail();
    const perl = join(dir, 'perl');
    mkdirSync(perl);
    for (const name of ['a.pl', 'a.pptx', 'a.html']) writeFileSync(join(perl, name), '');
    const line = shown.replaceAll('/srv/www', perl).replace('file2url', FILE2URL);
    const { stdout, stderr } = spawnSync('sh', ['-c', line], { encoding: 'utf8' });
    assert.equal(stderr, '');
    const types = Object.fromEntries(
      [...stdout.matchAll(/curl="(.*?)" mimetype="(.*?)"/g)].map(([, curl, type]) => [curl, type]),
    );
    const slides = 'application/vnd.openxmlformats-officedocument.presentationml.presentation';
    assert.deepEqual(types, { 'a.pl': 'application/x-perl', 'a.pptx': slides, 'a.html': 'text/html' });
  },
);

test('a stream without names is refused at once, whatever its length, and the listing is not whole', () => {
  for (const [args, byte, advice] of [
    [[], 'a', /without a newline to end a name; are they ended by NUL \(-0\)/],
    [['-0'], 'a', /without NUL to end a name; are they a line each/],
  ] as const) {
    const endless = spawnSync('bash', ['-c', `yes ${byte} | tr -d '\\n' | '${FILE2URL}' ${args.join(' ')}`], {
      cwd: site,
    });
    assert.equal(endless.status, 65);
    assert.equal(endless.stdout.toString(), `${HEAD}<?lcc-failed status="65"?>\n`);
    assert.match(endless.stderr.toString(), advice);
  }
});
