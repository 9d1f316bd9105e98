// The three speeds of tests, by prefixes of a test's path below test/ (`qm/model` is test/qm/model.test.ts).
//
//   fast   npm test           all day: every room, the manuals, one run of each command, the demo
//   rest   npm run test:rest  real daemons, faults, machines, other servers, indexers, examples
//   long   npm run test:long  mutants, endurance, and hundreds of kills, power cuts and histories

const REST = [
  'acceptance',
  'bot/apache',
  'bot/nginx',
  'browser',
  'commands',
  'cu/ranges',
  'db/sqlite/flips',
  'db/sqlite/salvage',
  'demo-',
  'examples',
  'faults',
  'fetch/hostile',
  'fetch/nginx',
  'fsck',
  'indexers',
  'line',
  'machines',
  'qm/crash',
  'qm/deletion-spool',
  'qm/owners',
  'qm/set-order',
  'qm/settings',
  'rs/mail',
  'rs/vantages',
  'spider/faults',
  'spider/hostile',
  'spider/transaction/records',
  'web/metrics',
];
/**
 * Tests that only the long set has: kills at every step but those of the Queue Manager (qm/crash), power cuts, and what shows
 * again, on other parts or with more of them, what one of the rest shows. Of other files it has single tests (support/long.ts).
 */
const LONG_ONLY = [
  'acceptance/clear-faults',
  'acceptance/clear-kills',
  'acceptance/clear-readers',
  'acceptance/crawl-docs',
  'acceptance/crawl-kills',
  'acceptance/real-trees',
  'bot/endurance',
  'bot/hostile',
  'browser/inner-text',
  'browser/states',
  'commands/clear-restored',
  'commands/lcccp-histories',
  'commands/lccd-bm.crash',
  'commands/lccd-uns-crash',
  'commands/lccq-histories',
  'commands/lccq-memory',
  'commands/lccrs-restored',
  'commands/lost-store',
  'crash',
  'demo-clear',
  'demo-directories',
  'demo-spider',
  'faults/clear-disk',
  'faults/kills',
  'faults/power-cuts',
  'faults/safeguards',
  'faults/stored',
  'indexers/htdig-urls',
  'indexers/npm',
  'line/damaged-row',
  'line/hosts',
  'machines/relay',
  'qm/crash-audits',
  'qm/crash-removals',
  'qm/day',
  'qm/mutants',
  'spider/faults/fuzz',
  'spider/faults/kills',
  'spider/faults/slots',
];
/** Files of which the long set has larger amounts, or more tests, than another. */
const LONG = [
  ...LONG_ONLY,
  'acceptance/crawl-hosts',
  'commands/lcccp-doubt',
  'commands/lccd-hard-acceptance',
  'commands/lccd-uns-order',
  'commands/lccd-uns-overload',
  'commands/lccq-replaced',
  'commands/restored-live',
  'db/sqlite/flips',
  'examples/spider',
  'faults/disks',
  'faults/lost-answers',
  'indexers',
  'line/clear-feed',
  'line/lists',
  'qm/model',
  'qm/quota',
  'sources/walk',
  'spider/faults/chain',
  'text/page-links-parse5',
];

/** Rooms whose test files change nothing of their process that another would see: those of a folder share a few processes. */
const TOGETHER = [
  'bm',
  'clear',
  'config',
  'cp',
  'cu',
  'db',
  'fetch',
  'lib',
  'links',
  'qm',
  'rs',
  'run',
  'scan',
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
  'db/sqlite/checkpoints',
  'db/sqlite/flips',
  'db/sqlite/salvage',
  'fetch/hostile',
  'fetch/nginx',
  'qm/crash',
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
  'uns/settings',
];
const FILES_A_PROCESS = 12;

const isIn = (name, prefixes) => prefixes.some(prefix => name.startsWith(prefix));

/** Set → whether it has the test of this name. */
export const SETS = {
  fast: name => !isIn(name, [...REST, ...LONG_ONLY]),
  rest: name => isIn(name, REST) && !isIn(name, LONG_ONLY),
  long: name => isIn(name, LONG),
};

/** Set → how much its tests do, where the environment does not say it. */
export const AMOUNTS = {
  fast: { LCC_MODEL_RUNS: '50' },
  rest: {},
  long: {
    LCC_MODEL_RUNS: '20000',
    LCC_TEST_CLEAR_IDS: '10000',
    LCC_TEST_CLEAR_KILLS: '100',
    LCC_TEST_CLEAR_PUTS: '1000',
    LCC_TEST_CRAWL_KILLS: '56',
    LCC_TEST_CRAWL_HOSTS: '1000',
    LCC_TEST_DOCUMENTS: '10000',
    LCC_TEST_FETCHES: '200000',
    LCC_TEST_FLIPS: '400',
    LCC_TEST_HISTORIES: '30',
    LCC_TEST_HTTP2_MUTANTS: '1000',
    LCC_TEST_KILLS: '500',
    LCC_TEST_LINK_PAGES: '10000',
    LCC_TEST_LONG: '1',
    LCC_TEST_PAGES: '200',
    LCC_TEST_PROVIDERS: '20',
    LCC_TEST_SHOWN_PERCENT: '100',
    LCC_TEST_SPIDER_URLS: '3000',
    LCC_TEST_STREAMS: '10000',
    LCC_TEST_TIMEOUT_MS: '14400000',
    LCC_TEST_TREES: 'whole',
    LCC_TEST_UNS_HISTORIES: '30',
    LCC_TEST_URLS: '200000',
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
