import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crontabLines } from '../../src/wire/crontab.js';
import { rootsApart } from '../../src/wire/roots-apart.js';

const TERMS = { bin: '/usr/bin', docroot: '/var/www', pwdfile: '$HOME/.pw', pid: 7, uns: 'lcc:9000' };
const linesOf = (roots: string[]) => crontabLines(roots, TERMS).map(({ line }) => line);

test('roots of one host have one line, whose list is whole: a full set of it removes nothing of another root', () => {
  const [line = '', ...more] = linesOf(['http://a/x/news/', 'http://a/x/d%C3%A9j%C3%A0%20vu%25/']);
  assert.deepEqual(more, []);
  assert.match(
    line,
    /cd \/var\/www && file2url --find '\.\/déjà vu\\%' \.\/news -type f ! -path '\*\/\.\*' \|/,
  );
  assert.match(line, /--statefile='?\$HOME\/\.pw\.state'? \| lcccp .* --urlprefix=http:\/\/a\/x\/$/);
  assert.doesNotMatch(line, /--set/);
  assert.match(linesOf(['http://a/x/'])[0] ?? '', /--find \. -type f .* --urlprefix=http:\/\/a\/x\/$/);
});

test('each of several hosts has a line with a directory and a state of its own, none of which sends a full set', () => {
  const entries = crontabLines(['https://a/', 'http://b:8080/x/', 'http://b:8080/y/'], TERMS);
  assert.deepEqual(
    entries.map(({ host, docroot }) => [host, docroot]),
    [
      ['b:8080', '/var/www/b:8080'],
      ['a', '/var/www/a'],
    ],
  );
  for (const { line } of entries) assert.match(line, / --set=partial /);
  const states = entries.map(({ line }) => /--statefile=(\S+)/.exec(line)?.[1]);
  assert.deepEqual(states, ['$HOME/.pw.b-8080.state', '$HOME/.pw.a.state']);
});

test('certificates that were named are named in each line that delivers over TLS, and in no other', () => {
  const cafile = '/etc/our ca.pem';
  const of = (uns: string) =>
    crontabLines(['https://a/', 'http://b/'], { ...TERMS, uns, cafile }).map(({ line }) => line);
  for (const line of of('tls:lcc:9443'))
    assert.match(line, / --pwdfile=\$HOME\/\.pw --cafile='\/etc\/our ca\.pem' --set=partial --urlprefix=/);
  for (const uns of ['lcc:9000', 'unix:/run/uns.sock'])
    for (const line of of(uns)) assert.doesNotMatch(line, /cafile/);
});

test('a page is named once: by https where there is http as well, and by the outer one of two roots', () => {
  assert.deepEqual(rootsApart(['http://a/', 'https://a/', 'https://a/in/', 'http://a/in/']), [
    { host: 'a', urlprefix: 'https://a/', dirs: [] },
  ]);
  assert.deepEqual(
    rootsApart(['http://a/%FF/', 'http://a/b/']).map(({ dirs }) => dirs),
    [['%FF', 'b']],
  );
});
