/** Random histories of a Queue Manager: what CPs, UNSes, Bot Managers, operators, clocks and bad luck do to it. */
import fc from 'fast-check';
import type { Rules, Terms, Url } from './model.js';

export interface Setting {
  terms: Terms[];
  rules: Rules & {
    sliceUrls: number;
    window: number;
    /** Sets of a provider kept in memory. */
    untouchedSets: number;
    overbookPercent: number;
    fuse: { percent: number; urls: number };
  };
}

export type Event =
  /** A UNS has accepted a set: it lies in its spool. */
  | { do: 'submit'; uns: number; pid: number; full: boolean; urls: Url[] }
  /** The CP says again what its last full set said. */
  | { do: 'again'; uns: number; pid: number }
  /** The UNS sends the next urls of what it spooled first. */
  | { do: 'forward'; uns: number; urls: number; fate: 'wait' | 'cut' | 'deaf' | 'damaged' }
  /** Bot Managers answer. */
  | { do: 'answer'; which: number; count: number; result: ResultKind; len: number; announced: boolean }
  /** A Bot Manager comes, changes, or goes (0 slots). */
  | { do: 'bm'; which: number; slots: number }
  /** Files are deleted on their machines, or their machine is away. */
  | { do: 'unlink'; count: number; away: boolean }
  | { do: 'pass'; ms: number }
  /** The wall clock is set. */
  | { do: 'jump'; ms: number }
  | { do: 'crash' }
  /** The process dies right after the n-th durable step from now. */
  | { do: 'crash-at'; steps: number }
  | { do: 'control'; pid: number; what: 'pause' | 'resume' | 'flush' | 'want-full' | 'release' | 'discard' }
  /** The CP has received errors. */
  | { do: 'received'; pid: number; count: number };

export type ResultKind = 'ok' | 'unchanged' | 'gone' | 'later' | 'busy' | 'site' | 'store-full';

const KEYS = ['a text/html', 'a text/xml', 'b text/html', 'c text/html', 'd text/html', 'e text/html'];
export const UNSES = 2;
export const BMS = 2;
const PIDS = [1, 2, 3];

const pid = fc.constantFrom(...PIDS);
const uns = fc.nat(UNSES - 1);
const len = fc.integer({ min: 1, max: 3 });

const url: fc.Arbitrary<Url> = fc.record({
  key: fc.constantFrom(...KEYS),
  op: fc.constantFrom('update', 'update', 'update', 'delete'),
  len: fc.option(len, { nil: undefined }),
  md5: fc.option(len, { nil: undefined, freq: 1 }),
  mtime: fc.constantFrom(undefined, undefined, undefined, 1, 2),
  ifabsent: fc.constantFrom(undefined, undefined, undefined, undefined, true),
  tod: fc.constantFrom(undefined, undefined, undefined, undefined, '0-1', '2-5', '23-1'),
});

const weighted = <T extends Event>(weight: number, arbitrary: fc.Arbitrary<T>) => ({ weight, arbitrary });
const of = <T extends string>(name: T) => fc.constant(name);

const event: fc.Arbitrary<Event> = fc.oneof(
  weighted(
    5,
    fc.record({
      do: of('submit'),
      uns,
      pid,
      full: fc.constantFrom(false, false, true),
      urls: fc.array(url, { maxLength: 6 }),
    }),
  ),
  weighted(1, fc.record({ do: of('again'), uns, pid })),
  weighted(
    7,
    fc.record({
      do: of('forward'),
      uns,
      urls: fc.constantFrom(99, 99, 99, 1, 2, 3, 4),
      fate: fc.constantFrom('wait', 'wait', 'wait', 'wait', 'cut', 'deaf', 'damaged'),
    }),
  ),
  weighted(
    9,
    fc.record({
      do: of('answer'),
      which: fc.nat(8),
      count: fc.integer({ min: 1, max: 3 }),
      result: fc.constantFrom<ResultKind>(
        'ok',
        'ok',
        'ok',
        'ok',
        'unchanged',
        'gone',
        'later',
        'busy',
        'site',
        'store-full',
      ),
      len,
      announced: fc.boolean(),
    }),
  ),
  weighted(2, fc.record({ do: of('bm'), which: fc.nat(BMS - 1), slots: fc.integer({ min: 0, max: 2 }) })),
  weighted(2, fc.record({ do: of('unlink'), count: fc.integer({ min: 1, max: 3 }), away: fc.boolean() })),
  weighted(3, fc.record({ do: of('pass'), ms: fc.constantFrom(6, 60, 1500, 12_000, 70_000) })),
  weighted(
    2,
    fc.record({
      do: of('jump'),
      ms: fc.constantFrom(-86_400_000, -3_600_000, -20_000, 20_000, 3_600_000, 7_200_000),
    }),
  ),
  weighted(1, fc.record({ do: of('crash') })),
  weighted(1, fc.record({ do: of('crash-at'), steps: fc.integer({ min: 1, max: 4 }) })),
  weighted(
    1,
    fc.record({
      do: of('control'),
      pid,
      what: fc.constantFrom(
        'pause',
        'resume',
        'resume',
        'flush',
        'want-full',
        'release',
        'release',
        'discard',
      ),
    }),
  ),
  weighted(1, fc.record({ do: of('received'), pid, count: fc.integer({ min: 1, max: 3 }) })),
);

const terms = (pid: number): fc.Arbitrary<Terms> =>
  fc.record({
    pid: fc.constant(pid),
    priority: fc.constantFrom(0, 1, 1, 2),
    parallel: fc.constantFrom(1, 1, 2),
    filesmax: fc.constantFrom(100, 100, 3),
    spacemax: fc.constantFrom(1000, 1000, 6),
    mask: fc.constantFrom('', '', '', '10'.repeat(12), '01'.repeat(12)),
    isSpread: fc.constantFrom(false, false, true),
  });

const anySetting: fc.Arbitrary<Setting> = fc.record({
  terms: fc.tuple(...PIDS.map(terms)),
  rules: fc.record({
    retries: fc.constantFrom(1, 2),
    retryDelayMs: fc.constant(1000),
    backoffMinMs: fc.constant(4000),
    backoffMaxMs: fc.constant(10_000),
    errorsKept: fc.constantFrom(1000, 1000, 2),
    sliceUrls: fc.constantFrom(2, 2, 3, 100),
    window: fc.constantFrom(1, 2, 4),
    untouchedSets: fc.constantFrom(1, 2, 3, 100),
    overbookPercent: fc.constantFrom(0, 0, 100),
    fuse: fc.constantFrom({ percent: 100, urls: 0 }, { percent: 100, urls: 0 }, { percent: 40, urls: 1 }),
  }),
});

/** Where few errors are kept, quotas are wide: a url refused at intake can be seen only in its error. */
const setting = anySetting.map(({ terms, rules }) => ({
  terms: rules.errorsKept > 2 ? terms : terms.map(one => ({ ...one, filesmax: 100, spacemax: 1000 })),
  rules: rules.errorsKept > 2 ? rules : { ...rules, fuse: { percent: 100, urls: 0 } },
}));

/** A history: how the Queue Manager is set, and what happens to it. */
export const history = fc.tuple(setting, fc.array(event, { minLength: 5, maxLength: 40, size: 'max' }));
