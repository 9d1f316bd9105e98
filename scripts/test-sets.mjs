// The sets of tests, by prefixes of a test's path below test/ (`qm/model` is test/qm/model.test.ts).
//
//   fast   npm test           all day: every room, the manuals, one run of each command, the demo
//   rest   npm run test:rest  the commands, real daemons, one of each: indexer, browser, rail, crawl, pair of machines
//   node   .ci/run            of the fast ones, what another Node can break
//   long   npm run test:long  what protects a release: acceptance, browsers, examples, indexers, machines, faults, damage bit by
//                             bit, kills at every step, models at full size
//
// fast and rest are the gate. Of some files the gate has single tests, or small amounts, and the long set all (support/long.ts).

import { readFileSync } from 'node:fs';

const REST = [
  'acceptance/clear-varnish',
  'acceptance/crawl',
  'browser/changes',
  'bot/addresses',
  'commands',
  'db/engine/ledger',
  'db/engine/real',
  'db/sqlite/flips',
  'faults/kills',
  'faults/lost-answers',
  'fetch/hostile',
  'fetch/nginx',
  'fsck',
  'keep/histories',
  'keep/kills',
  'examples/prometheus',
  'indexers/engines',
  'line',
  'machines/content',
  'machines/direct',
  'qm/settings',
  'qm/set-order',
  'rs/feed',
  'rs/mail',
  'spider/faults/chain',
  'text/convert/',
  'text/markdown/',
  'web/metrics',
];
/** What the gate has nothing of. */
const LONG_ONLY = [
  'acceptance',
  'acceptance/crawl-',
  'bot/endurance',
  'bot/hostile',
  'browser',
  'commands/clear-restored',
  'commands/cp-package',
  'commands/engine-wait',
  'commands/lcccp-histories',
  'commands/lccctl-backup-load',
  'commands/lccd-bm-relay',
  'commands/lccd-hard-acceptance',
  'commands/lccd-keep-continues',
  'commands/lccd-keep-survives',
  'commands/lccd-keep-newer',
  'commands/lccd-rs-homes',
  'commands/lccd-rs-postfix',
  'commands/lccd-uns-order',
  'commands/lccd-uns-overload',
  'commands/lccfsck-machines',
  'commands/lccfsck-spools',
  'commands/lccq-histories',
  'commands/lccq-memory',
  'commands/lccregister-apache',
  'commands/lccregister-provider',
  'commands/lccrs-restored',
  'commands/lccstat-spools',
  'commands/lccstored-restored',
  'commands/login-files',
  'commands/lost-store',
  'commands/restored',
  'commands/retry-after',
  'crash',
  'cu/ranges',
  'db/engine/tls',
  'db/engine/trio',
  'db/sqlite/salvage',
  'demo-',
  'examples',
  'faults',
  'fetch/hostile/fuzz',
  'house/runner',
  'indexers',
  'keep/sizes',
  'line/announced',
  'line/as-served',
  'line/bandwidth',
  'line/charset',
  'line/clear-feed',
  'line/clearing',
  'line/damaged-row',
  'line/fuse',
  'line/gate',
  'line/half-pages',
  'line/hosts',
  'line/keeping',
  'line/lists',
  'line/logs',
  'line/mirror',
  'line/push-clients',
  'line/registration',
  'line/scan',
  'line/site-terms',
  'line/urls',
  'line/vectors',
  'line/wordpress',
  'machines',
  'packages',
  'qm/day',
  'qm/deletion-spool',
  'qm/mutants',
  'qm/owners',
  'rs/vantages',
  'spider/faults',
  'spider/hostile',
  'spider/transaction/records',
  'text/convert/readers',
];
/** Files that do more in the long set than in the gate, as they say themselves, … */
const DOES_MORE = /support\/long\.js|\bLCC_(TEST|MODEL|FUZZ)_[A-Z]/;
/** … or what they import. */
const LONG_TOO = [
  'acceptance/clear-varnish',
  'bot/addresses',
  'commands/lccq-stay',
  'faults/kills',
  'indexers/engines',
  'machines/direct',
  'qm/set-order',
];
/** Rooms in which one version of Node may do what another does not. */
const NODE = ['bot', 'db', 'fetch', 'lib', 'smoke', 'web'];

/** Rooms whose test files change nothing of their process that another would see: those of a folder share a few processes. */
const TOGETHER = [
  'bm',
  'clear',
  'config',
  'cp',
  'crawl',
  'cu',
  'db',
  'fetch',
  'lib',
  'qm',
  'robots',
  'rs',
  'run',
  'sources',
  'spider',
  'text',
  'uns',
  'web',
  'wire',
];
/** Of these rooms, tests that take long, or leave something behind. */
const ALONE = [
  'cu/ranges',
  'db/engine/ledger',
  'db/engine/real',
  'db/engine/tls',
  'db/engine/trio',
  'db/sqlite/checkpoints',
  'db/sqlite/flips',
  'db/sqlite/salvage',
  'fetch/hostile',
  'fetch/nginx',
  'qm/day',
  'qm/deletion-spool',
  'qm/fuse',
  'qm/housekeeping/decided-removals',
  'qm/model',
  'qm/many-parts',
  'qm/mutants',
  'qm/settings',
  'qm/time-slots',
  'rs/mail',
  'rs/vantages',
  'rs/zone-hours',
  'spider/faults',
  'spider/hostile',
  'spider/transaction/records',
  'text/convert',
  'uns/settings',
];
const FILES_A_PROCESS = 12;

const isIn = (name, prefixes) => prefixes.some(prefix => name.startsWith(prefix));
/** Length of the longest of the prefixes that the name has, 0 for none. */
const fitOf = (name, prefixes) =>
  Math.max(0, ...prefixes.filter(prefix => name.startsWith(prefix)).map(prefix => prefix.length));

/** Where a file's tests are; the longer prefix decides. */
function placeOf(name) {
  const [rest, long] = [fitOf(name, REST), fitOf(name, LONG_ONLY)];
  if (rest === 0 && long === 0) return 'fast';
  return long > rest ? 'long' : 'rest';
}

const doesMore = name =>
  DOES_MORE.test(readFileSync(new URL(`../test/${name}.test.ts`, import.meta.url), 'utf8'));

/** Set → whether it has the test of this name. */
export const SETS = {
  fast: name => placeOf(name) === 'fast',
  rest: name => placeOf(name) === 'rest',
  node: name => placeOf(name) === 'fast' && isIn(name, NODE),
  long: name => placeOf(name) === 'long' || isIn(name, LONG_TOO) || doesMore(name),
};

/** Sets of which each process loads one module (test-bundle.mjs): those that are run often. */
export const BUNDLED = ['fast', 'rest', 'node'];

/** Files that count seconds which somebody was promised: each runs when all others have ended. */
export const QUIET = ['acceptance/cluster-takeover'];

/** Set → how much its tests do, where the environment does not say it. */
export const AMOUNTS = {
  fast: { LCC_FUZZ_RUNS: '150', LCC_MODEL_RUNS: '20' },
  rest: {
    LCC_TEST_FLIPS: '40',
    LCC_TEST_KILLS: '6',
    LCC_TEST_PROVIDERS: '2',
    LCC_TEST_SPIDER_URLS: '300',
    LCC_TEST_URLS: '300',
  },
  node: { LCC_FUZZ_RUNS: '150', LCC_MODEL_RUNS: '20' },
  // So the whole set takes less than an hour of two cores.
  long: {
    LCC_MODEL_RUNS: '2000',
    LCC_TEST_CLEAR_IDS: '2000',
    LCC_TEST_CLEAR_KILLS: '20',
    LCC_TEST_CLEAR_PUTS: '200',
    LCC_TEST_CRAWL_KILLS: '20',
    LCC_TEST_CRAWL_HOSTS: '200',
    LCC_TEST_DOCUMENTS: '2000',
    LCC_TEST_FETCHES: '20000',
    LCC_TEST_FLIPS: '100',
    LCC_TEST_FREEZES: '10',
    LCC_TEST_HISTORIES: '8',
    LCC_TEST_KILLS: '50',
    LCC_TEST_LINK_PAGES: '2000',
    LCC_TEST_LONG: '1',
    LCC_TEST_MOVED_URLS: '10000',
    LCC_TEST_MOVES: '60',
    LCC_TEST_PAGES: '50',
    LCC_TEST_PROVIDERS: '8',
    LCC_TEST_SHOWN_PERCENT: '20',
    LCC_TEST_SPIDER_URLS: '1500',
    LCC_TEST_STREAMS: '2000',
    LCC_TEST_TAKEOVERS: '12',
    LCC_TEST_TIMEOUT_MS: '3600000',
    LCC_TEST_TREES: 'whole',
    LCC_TEST_UNS_HISTORIES: '8',
    LCC_TEST_URLS: '20000',
  },
};

/** @param names sorted @returns names of the files of each process, one after the other */
export function processesOf(names) {
  const processes = [];
  for (const name of names) {
    const room = name.split('/', 1)[0];
    const last = processes.at(-1);
    const isTogether = TOGETHER.includes(room) && !isIn(name, ALONE);
    const isNext = isTogether && last?.room === room && last.names.length < FILES_A_PROCESS;
    if (isNext) last.names.push(name);
    else processes.push({ room: isTogether ? room : undefined, names: [name] });
  }
  return processes.map(({ names: together }) => together);
}
