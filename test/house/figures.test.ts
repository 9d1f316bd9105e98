import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FIGURES } from '../../src/commands/figures.js';
import type { Figures } from '../../src/daemon/figures.js';
import { ALONE, KINDS } from '../../src/run/kinds.js';
import { DAEMON_FIGURES, WHOLE_FIGURES } from '../../src/run/whole-figures.js';
import { readProjectFile } from '../support/tree.js';

/** `NAME kind` or `NAME kind, label LABEL` of every metric of a kind of daemon → its help. */
function metricsOf(figures: Figures): Map<string, string> {
  const metrics = Object.values(figures).flatMap(figure => figure.metrics ?? []);
  return new Map(
    metrics.map(({ name, kind: type, label, help }) => [
      `${name} ${type}${label === undefined ? '' : `, label ${label}`}`,
      help,
    ]),
  );
}

/** The same as lcc-metrics(5) has it, each with its text. */
function documented(kind: string): Map<string, string> {
  const [, section = ''] =
    new RegExp(`^\\.Ss ${kind}\\n\\.Bl .*\\n([^]*?)^\\.El$`, 'm').exec(
      readProjectFile('man/lcc-metrics.5'),
    ) ?? [];
  return new Map(
    section
      .split(/^\.It Cm /m)
      .slice(1)
      .map(item => {
        const [head = '', ...text] = item.trim().split('\n');
        return [head.replace(' Pq ', ' '), text.join(' ')];
      }),
  );
}

/** Fields that lccstat(1) lists for a kind of daemon: those outside of brackets, which hold what lists consist of. */
function listedFields(kind: string): string[] {
  const [, daemons = ''] = /^\.It Li daemons$([^]*?)^\.El$/m.exec(readProjectFile('man/lccstat.1')) ?? [];
  const [, text = ''] =
    new RegExp(`^\\.It Nm ${kind}\\n([^]*?)(?=^\\.It Nm|(?![^]))`, 'm').exec(daemons) ?? [];
  const fields = new Set<string>();
  let depth = 0;
  for (const line of text.split('\n')) {
    const [, field, rest = line] = /^\.Li (\w+)(.*)$/.exec(line) ?? [];
    if (field !== undefined && depth === 0) fields.add(field);
    depth += rest.split('(').length - rest.split(')').length;
  }
  return [...fields];
}

test('every daemon has figures: lccd, those that it starts and those that it does not', () => {
  const kinds = ['lccd', ...KINDS.map(({ name }) => name), ...ALONE];
  assert.deepEqual(Object.keys(FIGURES).toSorted(), kinds.toSorted());
});

const OF_LCCD = { 'The LCC': WHOLE_FIGURES, 'Every daemon': DAEMON_FIGURES };

for (const [kind, figures] of Object.entries<Figures>({ ...OF_LCCD, ...FIGURES })) {
  test(`lcc-metrics(5) has the metrics of ${kind} with type, label and meaning, and no other`, () => {
    const [known, listed] = [metricsOf(figures), documented(kind)];
    assert.ok(known.size > 0);
    assert.deepEqual([...listed.keys()].toSorted(), [...known.keys()].toSorted());
    for (const [metric, help] of known) {
      const text = listed.get(metric) ?? '';
      assert.ok(text.startsWith(help) && /^\W/.test(text.slice(help.length)), `${metric}: ${help} / ${text}`);
    }
  });
}

for (const [kind, figures] of Object.entries(FIGURES)) {
  test(`lccstat(1) has the fields of ${kind}, and no other`, () => {
    assert.deepEqual(listedFields(kind).toSorted(), Object.keys(figures).toSorted());
  });

  test(`the figures of ${kind} have their unit in their names`, () => {
    for (const [field, { metrics = [] }] of Object.entries(figures))
      for (const { name, kind: type } of metrics) {
        assert.equal(name.endsWith('_total'), type === 'counter', name);
        assert.equal(name.includes('bytes'), field.includes('bytes'), `${field} is ${name}`);
        assert.doesNotMatch(field, /_(ms|s)$/);
      }
  });
}
