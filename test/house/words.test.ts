/** Plain words: turns of phrase that hide the subject of a sentence are counted, and may only become fewer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { projectFiles, readProjectFile } from '../support/tree.js';

/** What reads badly, and what to write instead. */
const STILTED: readonly [pattern: RegExp, instead: string][] = [
  [/\bwhoever\b|(?:^|[.;:,] )who (?!\w+ .*\?)/gim, 'a noun: the client, the peer, the operator'],
  [/\bbehind\b/gi, '"after", unless something stands behind a front'],
  [/\b(?:tell|tells|telling|told) of\b/gi, '"report"'],
  [/\bso many\b/gi, 'the number, or N'],
  [/\b(?:is|are|was|were) to be\b/gi, '"must be", "will be"'],
  [/\banew\b/gi, '"again"'],
  [/(?:^|\. )Of (?:the|what|all|a|an|each|whom|it|this|them)\b/gm, 'the subject first'],
];

/** Places per thousand words, with little room: lower a number when it has fallen, never raise one. */
const AT_MOST = {
  documents: 0.6,
  manual: 0.1,
  examples: 0.1,
  comments: 0.7,
  'comments of tests': 0.5,
  messages: 0.1,
};
/** How far a number may stay above what is measured. */
const SLACK = 0.5;
type Text = keyof typeof AT_MOST;

const LITERAL = /'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g;
const COMMENT = /\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/.*/g;

/** Comments of a source file, without their marks. */
function commentsOf(source: string): string {
  const comments = source.match(COMMENT) ?? [];
  return comments.join('\n').replace(/^\s*(?:\/\*\*?|\*\/|\*|\/\/)/gm, '');
}

/** Strings of a source file that have several words: its log lines, errors, and descriptions. */
function messagesOf(source: string): string {
  const literals = source.replace(COMMENT, '').match(LITERAL) ?? [];
  return literals
    .map(literal => literal.slice(1, -1))
    .filter(text => text.includes(' '))
    .join('\n');
}

function kindOf(path: string): Text | undefined {
  // The names of tests are counted where they are.
  if (path === 'test/house/words.test.ts' || path === 'docs/promises.md') return undefined;
  if (path.startsWith('examples/')) return 'examples';
  if (path.endsWith('.md')) return 'documents';
  if (/^man\/.*\.\d$/.test(path)) return 'manual';
  if (/^(src|scripts)\/.*\.(ts|mjs)$/.test(path)) return 'comments';
  return /^(test|bench)\/.*\.ts$/.test(path) ? 'comments of tests' : undefined;
}

test('stilted turns of phrase only become fewer', () => {
  const words: Partial<Record<Text, number>> = {};
  const found: Partial<Record<Text, string[]>> = {};
  const count = (kind: Text, path: string, text: string) => {
    words[kind] = (words[kind] ?? 0) + text.split(/\s+/).length;
    for (const [pattern, instead] of STILTED)
      for (const [match] of text.matchAll(pattern))
        (found[kind] ??= []).push(`${path}: "${match.trim()}": write ${instead}`);
  };
  for (const path of projectFiles()) {
    const kind = kindOf(path);
    if (kind === undefined) continue;
    const whole = readProjectFile(path);
    const text = /\.(ts|mjs)$/.test(path) ? commentsOf(whole) : whole;
    count(kind, path, text);
    if (/^src\/.*\.ts$/.test(path)) count('messages', path, messagesOf(whole));
  }
  const rates = Object.entries(AT_MOST).map(([kind, atMost]) => {
    const places = found[kind as Text] ?? [];
    const rate = Math.ceil((10_000 * places.length) / (words[kind as Text] ?? 1)) / 10;
    return { kind, atMost, rate, places };
  });
  for (const { kind, atMost, rate, places } of rates) {
    assert.ok(rate <= atMost, `${kind}: ${rate} a thousand words, at most ${atMost}:\n${places.join('\n')}`);
    assert.ok(atMost - rate <= SLACK, `${kind}: ${rate} a thousand words: lower the number (${atMost})`);
  }
});

/** Comments of src that begin with one of these have no noun as their subject. */
const HEADLESS = /^(?:What|Whether|Of|Its?|That|Such)\b/;
const LONGEST_COLUMN = 110;
/** Comments without a subject, and lines of comments that are too long. Lower a number when it has fallen, never raise one. */
const IN_SOURCES = { headless: 30, long: 0 };

/** First lines of the comments of a source; lines of `//` one after the other are one comment. */
function beginningsOf(source: string): string[] {
  return [...source.matchAll(COMMENT)].flatMap(({ 0: comment, index }) => {
    const isFurtherLine = /^[ \t]*\/\/.*\n[ \t]*$/m.test(
      source.slice(0, index).split('\n').slice(-2).join('\n'),
    );
    return isFurtherLine ? [] : [comment.replace(/^\/(?:\*\*?|\/)[\s*]*/, '')];
  });
}

test('comments without a subject, and lines of comments that are too long, only become fewer', () => {
  const sources = projectFiles('src').filter(path => path.endsWith('.ts'));
  const found = { headless: [] as string[], long: [] as string[] };
  for (const path of sources) {
    const source = readProjectFile(path);
    for (const text of beginningsOf(source))
      if (HEADLESS.test(text)) found.headless.push(`${path}: ${text.split('\n')[0]}`);
    source.split('\n').forEach((line, index) => {
      if (line.length > LONGEST_COLUMN && /^\s*(?:\/\*|\*|\/\/)/.test(line))
        found.long.push(`${path}:${index + 1}`);
    });
  }
  for (const [kind, places] of Object.entries(found)) {
    const atMost = IN_SOURCES[kind as keyof typeof IN_SOURCES];
    assert.ok(
      places.length <= atMost,
      `${kind}: ${places.length} comments, at most ${atMost}:\n${places.join('\n')}`,
    );
  }
});
