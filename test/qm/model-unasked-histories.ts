/** Random histories of urls that nobody announced, beside those of their owner, of the real Queue Manager and its model. */
import fc from 'fast-check';
import { Turns } from './life.js';
import { ANY, type Kind, type Url } from './model-unasked-types.js';
import { UnaskedPair } from './model-unasked-pair.js';
import type { UnaskedEvent } from './model-unasked-words.js';
import { OneDatabase } from './one-database.js';

const CURLS = ['a', 'b', 'c', 'd'];
const TYPES = ['text/html', 'text/xml'];
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;

const curl = fc.constantFrom(...CURLS);
const type = fc.constantFrom(ANY, ANY, ...TYPES);
const len = fc.integer({ min: 1, max: 3 });
const hops = fc.integer({ min: 0, max: 9 });
const crashAt = fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined, freq: 8 });
const update = fc.constant('update' as const);

const said: fc.Arbitrary<Url> = fc.record({
  curl,
  type,
  op: fc.constantFrom('update', 'update', 'update', 'delete'),
  len: fc.option(len, { nil: undefined }),
  ifabsent: fc.constantFrom(undefined, undefined, undefined, true),
});
const link: fc.Arbitrary<Url> = fc.record({
  curl,
  type: fc.constant(ANY),
  op: update,
  ifabsent: fc.constant(true),
  hops,
});
const noindex: fc.Arbitrary<Url> = fc.record({
  curl,
  type,
  op: fc.constant('delete' as const),
  md5: len,
});
const look: fc.Arbitrary<Url> = fc.record({ curl, type, op: update });
const past: fc.Arbitrary<Url> = fc.record({ curl, type: fc.constant(ANY), op: update, hops });

const pushed: fc.Arbitrary<Url> = fc.record({ curl, type: fc.constant(ANY), op: update });

const setOf = (kind: Kind, full: fc.Arbitrary<boolean>, url: fc.Arbitrary<Url>) =>
  fc.record({
    do: fc.constant('set' as const),
    kind: fc.constant(kind),
    full,
    urls: fc.array(url, { maxLength: 5 }),
    crashAt,
  });
const never = fc.constant(false);

const event: fc.Arbitrary<UnaskedEvent> = fc.oneof(
  { weight: 4, arbitrary: setOf(0, fc.constantFrom(false, false, true), said) },
  { weight: 5, arbitrary: setOf(2, never, fc.oneof({ weight: 5, arbitrary: link }, noindex)) },
  { weight: 4, arbitrary: setOf(1, never, pushed) },
  { weight: 3, arbitrary: setOf(3, never, fc.oneof(look, look, past)) },
  { weight: 1, arbitrary: setOf(4, never, look) },
  {
    weight: 14,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      is: fc.constantFrom('ok', 'ok', 'ok', 'unchanged', 'redirect', 'error', 'error'),
      len,
      type: fc.constantFrom(...TYPES),
      http: fc.constantFrom(301, 302),
      to: fc.constantFrom(...CURLS, ''),
      code: fc.constantFrom(404, 404, 410, 403, 303, 500, 602),
      crashAt,
    }),
  },
  {
    weight: 4,
    // None is a term of `known`, or a sum of few that differs from one by seconds.
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      seconds: fc.constantFrom(2, 2 * HOUR_S + 7, DAY_S + 1000, 8 * DAY_S + 5000, 33 * DAY_S + 9000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('robots' as const), forbids: fc.boolean(), away: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('received' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
);

const words = { curl: 'a', type: ANY, op: 'update', len: undefined, ifabsent: undefined } as const;
const answered = (type: string, is: 'ok' | 'error' = 'ok'): UnaskedEvent => ({
  do: 'answer',
  is,
  len: 1,
  type,
  http: 301,
  to: 'a',
  code: 602,
  crashAt: undefined,
});
const pushing = (urls: Url[]): UnaskedEvent => ({
  do: 'set',
  kind: 1,
  full: false,
  urls,
  crashAt: undefined,
});
const owners = (full: boolean, urls: Url[]): UnaskedEvent => ({
  do: 'set',
  kind: 0,
  full,
  urls,
  crashAt: undefined,
});

/** What random histories have found, and chance might not show again for a while. */
const FOUND: UnaskedEvent[][] = [
  // It is on its way once more when its owner names it no longer.
  [owners(false, [words]), owners(false, [words]), answered('text/html'), owners(true, [])],
  // Of a page that is held as two types each row has the owner's last words, and a full set leaves both waiting.
  ...[false, true].map(full => [
    owners(false, [{ ...words, type: 'text/html' }]),
    owners(false, [{ ...words, type: 'text/xml' }]),
    answered('text/html'),
    answered('text/xml'),
    owners(full, [words, { ...words, len: 2 }]),
    owners(full, [{ ...words, len: 3 }]),
  ]),
  // Deleted while an origin that does not answer was asked for it, it waits for nothing more.
  [
    pushing([words, { ...words, curl: 'd' }]),
    answered('text/html'),
    owners(false, [words]),
    owners(false, [{ ...words, curl: 'd', op: 'delete' }]),
    answered('text/html', 'error'),
  ],
];

/** @throws the first history that goes wrong, shrunk, with the seed and path that repeat it */
export async function runUnaskedHistories({ seed, runs }: { seed: number; runs: number }): Promise<void> {
  const database = new OneDatabase();
  const turns = new Turns();
  turns.install();
  const run = async (events: readonly UnaskedEvent[]) => {
    turns.forget();
    const pair = new UnaskedPair(database, turns);
    for (const one of events) await pair.run(one);
    await pair.drain();
  };
  const histories = fc.array(event, { minLength: 4, maxLength: 30, size: 'max' });
  try {
    await fc.assert(fc.asyncProperty(histories, run), {
      seed,
      numRuns: runs,
      examples: FOUND.map((events): [UnaskedEvent[]] => [events]),
    });
  } finally {
    turns.restore();
    database.db.close();
  }
}
