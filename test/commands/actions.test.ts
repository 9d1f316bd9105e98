import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { actionsOf } from '../../src/commands/common-options.js';
import type { CommandSpec, OptionSpec } from '../../src/commands/run.js';
import { runBin } from '../support/command.js';
import { commandNames } from '../support/tree.js';

const home = mkdtempSync(join(tmpdir(), 'lcc-actions-'));
after(() => rmSync(home, { recursive: true }));

const specs: CommandSpec[] = [];
for (const name of commandNames()) {
  const { command } = (await import(`../../src/commands/${name}.js`)) as { command: CommandSpec };
  if (command.options.some(({ of }) => of !== undefined)) specs.push(command);
}

const isFor = ({ of = [] }: OptionSpec, action: string) =>
  of.some(words => action === words || action.startsWith(`${words} `));

/** An option as somebody gives it. */
const given = ({ flags }: OptionSpec) => {
  const [flag = '', value = ''] = flags.split(' ');
  return { flag, text: value.startsWith('<') ? `${flag}=1` : flag };
};

const run = (name: string, args: string[]) => runBin(name, args, { input: '', env: { LCC_HOME: home } });

describe('options of an action', () => {
  it('are refused with every other one, which would pass over them: 64, and it is said which take them', () => {
    let refused = 0;
    for (const spec of specs)
      for (const row of spec.options.filter(({ of }) => of !== undefined))
        for (const action of actionsOf(spec.operands).filter(words => !isFor(row, words))) {
          const { flag, text } = given(row);
          const done = run(spec.name, [...action.split(' '), text]);
          const why = `${spec.name}: ${flag} is for ${row.of?.join(', ')}, not for ${action}\n`;
          assert.deepEqual([done.status, done.stderr], [64, why]);
          refused++;
        }
    assert.ok(refused > 300, String(refused));
  });

  it('are not blamed for an action that there is none of, and no name is said for one', () => {
    for (const spec of specs)
      for (const row of spec.options.filter(({ of }) => of !== undefined))
        for (const action of ['puase', 'ad', 'roo add']) {
          const done = run(spec.name, [...action.split(' '), given(row).text]);
          assert.equal(done.status, 64);
          assert.doesNotMatch(done.stderr, / is for .*, not for /);
        }
    assert.match(run('lccrail', ['rm', 'www1', '--wait']).stderr, / not for rm\n$/);
  });

  it('are for actions that there are, and --help says for which', () => {
    for (const spec of specs) {
      const help = run(spec.name, ['--help']).stdout.toString().replace(/\s+/g, ' ');
      for (const row of spec.options) {
        for (const words of row.of ?? [])
          assert.ok(
            actionsOf(spec.operands).some(action => isFor({ ...row, of: [words] }, action)),
            `${spec.name} ${words}`,
          );
        if (row.of !== undefined) assert.ok(help.includes(`${row.of.join(', ')}: ${row.help}`), row.flags);
      }
    }
  });

  it('are heeded with theirs, also where names follow', () => {
    for (const args of [
      ['lccpidb', 'root', 'add', '--pid=7'],
      ['lccrail', 'up', 'www1', '--wait'],
      ['lccmap', 'where', '7', '--json'],
    ] as const)
      assert.doesNotMatch(run(args[0], args.slice(1)).stderr, /is for/);
  });
});
