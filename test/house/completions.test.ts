/** What shells complete, asked of the shells themselves: the tables of options, all of them, and nothing else. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { COMMON_OPTIONS } from '../../src/commands/common-options.js';
import type { CommandSpec } from '../../src/commands/run.js';
import { commandNames, ROOT } from '../support/tree.js';
import { BOUND_MS } from '../support/until.js';

const completions = join(ROOT, 'dist/completions');
const dir = mkdtempSync(join(tmpdir(), 'lcc-complete-'));
after(() => rmSync(dir, { recursive: true }));
mkdirSync(join(dir, 'folder'));
writeFileSync(join(dir, 'file.txt'), '');
// fish completes what is installed.
mkdirSync(join(dir, 'bin'));

const names = commandNames();
const SITE = ['file2url', 'sitemap2url', 'feed2url', 'lcccpstate', 'lcccp', 'lccregister'];
for (const name of [...names, 'lcc-cp']) symlinkSync('/bin/true', join(dir, 'bin', name));

/** Its long options, as a table says. */
async function longOptionsOf(name: string): Promise<string[]> {
  const { command } = (await import(`../../src/commands/${name}.js`)) as { command: CommandSpec };
  const rows = [...command.options, ...COMMON_OPTIONS];
  return [...rows.map(({ flags }) => /--[\w-]+/.exec(flags)?.[0] ?? ''), '--help', '--version'].sort();
}

function skipOf(shell: string): string | false {
  const isMissing = spawnSync(shell, ['--version']).error !== undefined;
  return process.env['CI'] !== 'true' && isMissing && `${shell} is not installed`;
}

/** A line whose last word is completed. @returns what is offered, sorted */
type Completer = (...lines: string[]) => string[][];

/** The function of bash, with the words that readline makes of a line: it takes them apart at `=`. */
const bash: Completer = (...lines) => {
  const calls = lines.map(line => {
    const words = line
      .split(' ')
      .flatMap(word => (/^--?[\w-]+=/.test(word) ? word.split(/(?<==)|(?==)/) : [word]));
    const quoted = words.map(word => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}) COMP_CWORD=${words.length - 1}; _lcc ${words[0]} '' ''; printf '%s\\n' "\${COMPREPLY[@]}" --end--`;
  });
  const done = spawnSync('bash', ['--norc', '-c', `source ${completions}/bash/lcc\n${calls.join('\n')}`], {
    cwd: dir,
    encoding: 'utf8',
  });
  assert.equal(done.stderr, '');
  return offersIn(done.stdout);
};

const fish: Completer = (...lines) => {
  const calls = lines.map(line => `complete -C '${line}'; echo -- --end--`);
  const done = spawnSync(
    'fish',
    ['-c', `set -p fish_complete_path ${completions}/fish\n${calls.join('\n')}`],
    {
      cwd: dir,
      encoding: 'utf8',
      env: { ...process.env, HOME: dir, PATH: `${join(dir, 'bin')}:${process.env['PATH']}` },
    },
  );
  assert.equal(done.stderr, '');
  return offersIn(done.stdout);
};

/** An interactive zsh at a terminal, whose matches are noted in a file besides being shown. */
const zsh: Completer = (...lines) => {
  const [setup, offers] = [join(dir, 'setup.zsh'), join(dir, 'offers')];
  writeFileSync(offers, '');
  writeFileSync(
    setup,
    `PS1= PS2= LISTMAX=10000
fpath=(${completions}/zsh $fpath)
autoload -Uz compinit && compinit -D -u
compadd() {
  local -a found
  # Others only sort them.
  if (( ! \${@[(I)-[OAD]*]} )); then
    builtin compadd -O found "$@"
    print -rl -- $found >>${offers}
  fi
  builtin compadd "$@"
}
next() { print -- --end-- >>${offers}; BUFFER= }
zle -N next
bindkey '^G' next
bindkey '^I' list-choices
`,
  );
  atTerminal('zsh -f -i', `source ${setup}\n${lines.map(line => `${line}\t\x07`).join('')}exit 0\n`);
  return offersIn(readFileSync(offers, 'utf8'));
};

/** What is typed into an interactive shell, and what it prints. */
function atTerminal(shell: string, typed: string): string {
  const done = spawnSync('script', ['-qec', shell, '/dev/null'], {
    cwd: dir,
    input: typed,
    encoding: 'utf8',
    env: { ...process.env, TERM: 'dumb', HOME: dir },
    timeout: BOUND_MS,
  });
  assert.equal(done.status, 0, done.stdout);
  return done.stdout;
}

/** Without the description behind a tab, and the sign that a value follows. */
function offersIn(text: string): string[][] {
  const parts = text.split(/^--end--\n/m).slice(0, -1);
  return parts.map(part => [
    ...new Set(
      part
        .split('\n')
        .map(line => line.replace(/\t.*/, '').replace(/=$/, ''))
        .filter(line => line !== '')
        .sort(),
    ),
  ]);
}

for (const [shell, complete] of [
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
] as const)
  describe(`completion in ${shell}`, { skip: skipOf(shell) }, () => {
    it('offers every option of every command, and no other', async () => {
      const offered = complete(...names.map(name => `${name} --`));
      for (const [i, name] of names.entries()) assert.deepEqual(offered[i], await longOptionsOf(name), name);
    });

    it('offers the words of an option, files and folders where it takes them, and what may be done', () => {
      const [kinds, share, files, folders, actions, second, held, done] = complete(
        'lcccp --set=',
        'lccq --format ts',
        'lcccp --pwdfile=fi',
        'file2url --docroot ',
        'lccctl ',
        'lccpidb root ',
        'lccclearq d',
        'lccpidb --pid=7 se',
      );
      const bare = (offers: string[] | undefined) => offers?.map(offer => offer.replace(/^--\w+=/, ''));
      assert.deepEqual(bare(kinds), ['full', 'partial']);
      assert.deepEqual(share, ['tsv']);
      assert.deepEqual(bare(files), ['file.txt']);
      assert.deepEqual(
        folders?.map(name => name.replace(/\/$/, '')).filter(name => name !== 'bin'),
        ['folder'],
      );
      assert.ok(actions?.includes('want-full') && actions.includes('pause') && !actions.includes('file.txt'));
      assert.deepEqual(second, ['add', 'rm']);
      assert.deepEqual(held, ['dead']);
      assert.deepEqual(done, ['set']);
    });

    it('offers the commands of lcc-cp, and the options of each', async () => {
      const [commands, options] = complete('lcc-cp ', 'lcc-cp lcccpstate --');
      assert.deepEqual(
        commands?.filter(word => !word.startsWith('-')),
        SITE.toSorted(),
      );
      assert.deepEqual(options, await longOptionsOf('lcccpstate'));
    });
  });

describe('completion at a terminal', { skip: skipOf('bash') || skipOf('script') }, () => {
  it('completes an option, its value and a command behind --, as one types', () => {
    const typed = [
      'PS1= ; bind "set enable-bracketed-paste off"',
      `source ${completions}/bash/lcc`,
      'lcccp() { echo "got: $*"; }; lccq() { echo "got: $*"; }',
      'lcccp --urlp\thttp://h/ --set\tpar\t',
      'lccq --form\tjs\t --cursor=file\t -- printen\t',
      'exit',
      '',
    ].join('\n');
    const said = atTerminal('bash --norc --noprofile -i', typed);
    const got = [...said.matchAll(/^got: (.*?)\s*\r?$/gm)].map(([, words]) => words);
    assert.deepEqual(got, [
      '--urlprefix=http://h/ --set=partial',
      '--format=jsonl --cursor=file.txt -- printenv',
    ]);
  });
});
