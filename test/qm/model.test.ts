/** Random histories of the real Queue Manager against the model. LCC_MODEL_RUNS asks for more of them. */
import { test } from 'node:test';
import type { Event, ResultKind, Setting } from './history.js';
import { runHistories, runHistory } from './histories.js';
import { runUnaskedHistories } from './model-unasked-histories.js';

const RUNS = Number(process.env['LCC_MODEL_RUNS'] ?? 400);

test('the Queue Manager does what the model says, through any history', async t => {
  const seed = Number(process.env['LCC_MODEL_SEED'] ?? 1);
  await runHistories({ seed, runs: RUNS });
  t.diagnostic(`${RUNS} histories, seed ${seed}`);
});

test('what nobody announced is fetched, kept, known and let go of as the model says, through any history', async t => {
  const seed = Number(process.env['LCC_MODEL_SEED'] ?? 1);
  const runs = Math.ceil(RUNS / 4);
  await runUnaskedHistories({ seed, runs });
  t.diagnostic(`${runs} histories, seed ${seed}`);
});

const provider = {
  priority: 1,
  parallel: 1,
  filesmax: 100,
  spacemax: 1000,
  mask: '',
  isSpread: false,
} as const;
const SETTING: Setting = {
  terms: [1, 2, 3].map(pid => ({ pid, ...provider })),
  rules: {
    retries: 1,
    retryDelayMs: 1000,
    backoffMinMs: 4000,
    backoffMaxMs: 10_000,
    errorsKept: 1000,
    sliceUrls: 2,
    window: 4,
    untouchedSets: 2,
    overbookPercent: 0,
    fuse: { percent: 40, urls: 1 },
  },
};
const update = (key: string, more: object = {}) => ({
  key: `${key} text/html`,
  op: 'update' as const,
  ...more,
});
const submit = (urls: ReturnType<typeof update>[], full = false, pid = 1): Event => ({
  do: 'submit',
  uns: pid === 1 ? 0 : 1,
  pid,
  full,
  urls,
});
const forward: Event = { do: 'forward', uns: 0, urls: 99, fate: 'wait' };
const answer = (result: ResultKind): Event => ({
  do: 'answer',
  which: 0,
  count: 1,
  result,
  len: 1,
  announced: false,
});
const bm: Event = { do: 'bm', which: 0, slots: 1 };

/** These urls are submitted and fetched. */
const stored = (...keys: string[]): Event[] => [
  submit(keys.map(key => update(key))),
  bm,
  forward,
  ...keys.map(() => answer('ok')),
  { do: 'pass', ms: 60 },
];

/** This is said of a url, and if it is asked for, the content of length 1 comes. */
const told = (words: { len?: number; md5?: number }): Event[] => [
  submit([update('a', words)]),
  forward,
  bm,
  answer('ok'),
  { do: 'pass', ms: 60 },
];

/** What random histories have found, and chance might not show again for a while. */
const FOUND: Record<string, Event[]> = {
  'a url sent ahead is taken back when its own hours end': [
    submit([update('a', { tod: '0-1' }), update('b', { tod: '0-1' })]),
    forward,
    bm,
    { do: 'jump', ms: 7_200_000 },
    { do: 'pass', ms: 70_000 },
    answer('ok'),
  ],
  'a url that waits is named by a full set that wants it only if it is absent': [
    submit([update('a')]),
    submit([update('a', { ifabsent: true })], true),
    forward,
    forward,
  ],
  'that a site does not answer is written down although the url was submitted again': [
    submit([update('a')]),
    bm,
    forward,
    answer('site'),
    submit([update('a')]),
    forward,
    { do: 'pass', ms: 6 },
    { do: 'crash' },
  ],
  'a site that answers after an outage that it is busy is left alone as it asks': [
    submit([update('a')]),
    bm,
    forward,
    answer('site'),
    { do: 'pass', ms: 12_000 },
    answer('busy'),
    { do: 'pass', ms: 60 },
    { do: 'pass', ms: 1500 },
  ],
  'how long a site is left alone is known as well as it can be when the clock was set twice before a crash': [
    submit([update('a')]),
    { do: 'submit', uns: 0, pid: 3, full: false, urls: [update('b')] },
    forward,
    forward,
    bm,
    answer('busy'),
    { do: 'jump', ms: -86_400_000 },
    { do: 'crash-at', steps: 1 },
    answer('ok'),
    { do: 'jump', ms: 20_000 },
    answer('ok'),
    { do: 'pass', ms: 6 },
  ],
  'a site is left alone for as long as it asked for although the clock was set and the LCC crashed': [
    submit([update('a'), update('b')]),
    bm,
    forward,
    answer('busy'),
    { do: 'jump', ms: 7_200_000 },
    { do: 'pass', ms: 6 },
    { do: 'crash' },
    { do: 'jump', ms: 7_200_000 },
  ],
  'a url that failed comes behind the others of its set, also after a crash': [
    submit([update('a'), update('b'), update('c')]),
    bm,
    forward,
    answer('later'),
    { do: 'pass', ms: 60 },
    { do: 'crash' },
    bm,
    { do: 'pass', ms: 60 },
  ],
  'a url is tried as often as it may, and then reported': [
    submit([update('a')]),
    bm,
    forward,
    answer('later'),
    { do: 'pass', ms: 1500 },
    answer('later'),
    { do: 'pass', ms: 60 },
  ],
  'a file is asked for until it is gone, though its machine was away': [
    ...stored('a'),
    submit([update('a')]),
    forward,
    answer('ok'),
    { do: 'pass', ms: 60 },
    { do: 'unlink', count: 1, away: true },
    { do: 'pass', ms: 60 },
  ],
  'content that is not what was announced is fetched again, and believed when the same came again': [
    ...told({ md5: 2 }),
    ...told({ md5: 2 }),
    ...told({ md5: 2 }),
  ],
  'what was announced and never came is believed no longer when what is held is announced': [
    ...told({ md5: 2 }),
    ...told({ md5: 2 }),
    ...told({ md5: 1 }),
    ...told({ md5: 2 }),
  ],
  'content is in doubt no longer when its md5 is announced': [
    ...told({ md5: 2 }),
    ...told({ md5: 1 }),
    ...told({ len: 1 }),
  ],
  'what a later set named outlives the release of held removals': [
    ...stored('a', 'b', 'c'),
    submit([], true),
    forward,
    submit([update('c')]),
    forward,
    { do: 'control', pid: 1, what: 'release' },
    { do: 'pass', ms: 1500 },
  ],
  'a later full set settles what an earlier one would have removed': [
    ...stored('a', 'b', 'c'),
    submit([], true),
    forward,
    submit([update('a'), update('b'), update('c')], true),
    forward,
    { do: 'control', pid: 1, what: 'release' },
    { do: 'pass', ms: 1500 },
  ],
};

for (const [what, events] of Object.entries(FOUND)) test(what, () => runHistory(SETTING, events));

test('a closed provider whose terms are read again while its last set ends is forgotten', () => {
  const everyOtherHour = { ...provider, pid: 3, mask: '01'.repeat(12) };
  const setting = { ...SETTING, terms: [...SETTING.terms.slice(0, 2), everyOtherHour] };
  const forwardOther: Event = { do: 'forward', uns: 1, urls: 99, fate: 'wait' };
  return runHistory(setting, [
    { do: 'jump', ms: -3_600_000 },
    submit([update('a', { tod: '2-5' })], false, 3),
    submit([update('a')]),
    bm,
    forwardOther,
    forward,
    { do: 'pass', ms: 6 },
    submit([], true, 3),
    { do: 'bm', which: 0, slots: 0 },
    forwardOther,
    { do: 'jump', ms: -20_000 },
    { do: 'jump', ms: -86_400_000 },
  ]);
});
