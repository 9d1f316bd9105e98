import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { machinesOf } from '../../src/config/cluster.js';
import { homeOf, loadConfig, type ConfigSources } from '../../src/config/load.js';
import { printConfig } from '../../src/config/print-config.js';
import { SETTINGS, valueOf, type SettingKey } from '../../src/config/settings/index.js';
import { LccError, type ErrorCode } from '../../src/lib/errors.js';

/** An LCC home whose lcc.toml says `toml`. */
function home(t: TestContext, toml?: string) {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-config-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const file = join(dir, 'lcc.toml');
  if (toml !== undefined) writeFileSync(file, toml);
  const load = (sources: Partial<ConfigSources> = {}) => loadConfig({ env: { LCC_HOME: dir }, ...sources });
  return { dir, file, load };
}

function refusal(code: ErrorCode, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof LccError, String(error));
    assert.equal(error.code, code);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n/);
    return true;
  };
}

test('everything lives below LCC_HOME, else XDG_DATA_HOME/lcc, else ~/.local/share/lcc', () => {
  assert.equal(homeOf({ LCC_HOME: '/a', XDG_DATA_HOME: '/b' }).dir, '/a');
  assert.equal(homeOf({ LCC_HOME: '', XDG_DATA_HOME: '/b' }).dir, '/b/lcc');
  assert.equal(homeOf({}).dir, join(homedir(), '.local/share/lcc'));
  assert.deepEqual(homeOf({ LCC_HOME: '/a' }), {
    dir: '/a',
    db: '/a/lcc.db',
    unsSpool: '/a/spool/uns',
    fsmSpool: '/a/spool/fsm',
    clear: '/a/clear',
    rs: '/a/rs',
    spider: '/a/spider',
    store: '/a/store',
    run: '/a/run',
  });
});

test('without a file everything has its default', t => {
  const config = home(t).load();
  assert.equal(config.file, undefined);
  for (const key of Object.keys(SETTINGS) as SettingKey[]) {
    assert.deepEqual(config.get(key), SETTINGS[key].default);
    assert.equal(config.originOf(key), 'default');
  }
});

test('the command line wins over the file, the file over the default, and each value knows its origin', t => {
  const { file, load } = home(t, '[bm]\nslots = 3\nbots = 2\n');
  const config = load({ overrides: { 'bm.slots': '9', 'bm.bots': undefined } });
  assert.deepEqual([config.get('bm.slots'), config.originOf('bm.slots')], [9, 'command line']);
  assert.deepEqual([config.get('bm.bots'), config.originOf('bm.bots')], [2, file]);
  assert.deepEqual([config.get('bm.machine_id'), config.originOf('bm.machine_id')], ['local', 'default']);
});

test('--config wins over LCC_CONFIG, which wins over LCC_HOME/lcc.toml', t => {
  const first = home(t, 'bm.slots = 1\n');
  const second = home(t, 'bm.slots = 2\n');
  const third = home(t, 'bm.slots = 3\n');
  const env = { LCC_HOME: first.dir, LCC_CONFIG: second.file };
  assert.equal(loadConfig({ env, file: third.file }).get('bm.slots'), 3);
  assert.equal(loadConfig({ env }).get('bm.slots'), 2);
  assert.equal(loadConfig({ env: { LCC_HOME: first.dir } }).get('bm.slots'), 1);
});

test('a file that was named must be there', t => {
  const { dir } = home(t);
  const missing = join(dir, 'no.toml');
  const expected = refusal('input.missing', /no\.toml: there is no such file/);
  assert.throws(() => loadConfig({ env: { LCC_HOME: dir }, file: missing }), expected);
  assert.throws(() => loadConfig({ env: { LCC_HOME: dir, LCC_CONFIG: missing } }), expected);
});

test('a file that cannot be read is no file that is missing', t => {
  const { dir } = home(t);
  assert.throws(
    () => loadConfig({ env: { LCC_HOME: dir }, file: dir }),
    refusal('input.missing', /^configuration file .*: it is a directory; name a file$/),
  );
});

test('numbers may be written with a unit', t => {
  const { load } = home(
    t,
    `[uns]
login_timeout_ms = "1.5s"
idle_timeout_ms = "2 min"
session_timeout_ms = "1d"
max_spool_bytes = "3GB"
min_free_disk_percent = "12%"
min_rate_bytes_per_s = "2KB"
[xml]
token_bytes = "128 kb"
[bm]
slots = "12"
`,
  );
  const config = load();
  assert.equal(config.get('uns.login_timeout_ms'), 1500);
  assert.equal(config.get('uns.idle_timeout_ms'), 120_000);
  assert.equal(config.get('uns.session_timeout_ms'), 86_400_000);
  assert.equal(config.get('uns.max_spool_bytes'), 3 * 1024 ** 3);
  assert.equal(config.get('uns.min_free_disk_percent'), 12);
  assert.equal(config.get('uns.min_rate_bytes_per_s'), 2048);
  assert.equal(config.get('xml.token_bytes'), 131_072);
  assert.equal(config.get('bm.slots'), 12);
});

test('an amount may be written as the manual prints it', t => {
  const { load } = home(
    t,
    '[qm]\nbandwidth_bytes_per_s = "100 KB/s"\nretry_delay_ms = "4 s"\n[uns]\nmin_rate_bytes_per_s = "0 bytes/s"\n[xml]\nurl_bytes = "512 bytes"\n',
  );
  const config = load();
  assert.equal(config.get('qm.bandwidth_bytes_per_s'), 102_400);
  assert.equal(config.get('qm.retry_delay_ms'), 4000);
  assert.equal(config.get('uns.min_rate_bytes_per_s'), 0);
  assert.equal(config.get('xml.url_bytes'), 512);
});

test('a number outside its bounds is refused with the bounds, one of the wrong unit with the unit', t => {
  for (const [toml, why] of [
    ['bm.bots = 65', /bm\.bots = 65: must be 1 to 64/],
    ['bm.bots = 0', /must be 1 to 64/],
    ['bm.bots = "5s"', /give a number$/],
    ['bm.slots = 1.5', /give a whole number$/],
    ['uns.listen = []', /name at least one$/],
    ['uns.mime = []', /name at least one$/],
    ['uns.login_timeout_ms = "5KB"', /give a time, such as "10s"$/],
    ['uns.login_timeout_ms = "soon"', /give a time, such as "10s"$/],
    ['uns.login_timeout_ms = true', /give a time, such as "10s"$/],
    ['uns.login_timeout_ms = nan', /give a time, such as "10s"$/],
    ['uns.login_timeout_ms = inf', /give a time, such as "10s"$/],
    ['uns.login_timeout_ms = [1]', /give a time, such as "10s"$/],
    ['uns.idle_timeout_ms = "2h"', /must be 100 ms to 1 h$/],
    ['xml.token_bytes = 1', /must be 1 KB to 16 MB$/],
    ['xml.token_bytes = "5s"', /give a number of bytes, such as "64KB"$/],
    ['qm.bandwidth_bytes_per_s = "100KB/h"', /give bytes a second, such as "100KB" or "100KB\/s"$/],
    ['net.allow_plain = 1', /give true or false/],
    ['bm.machine_id = 1', /give a string/],
    ['uns.listen = "9000"', /give a list of strings/],
    ['uns.listen = [9000]', /give a list of strings/],
  ] as const) {
    const { file, load } = home(t, toml);
    assert.throws(() => load(), refusal('config', why), toml);
    assert.throws(() => load(), refusal('config', new RegExp(file)), toml);
  }
});

test('a bad value on the command line is misuse, one in the file a configuration error', t => {
  assert.throws(
    () => home(t).load({ overrides: { 'bm.slots': '0' } }),
    refusal('usage', /^command line: bm\.slots = "0": must be 1 to 10000$/),
  );
});

test('an unknown key is refused, naming the nearest known one', t => {
  for (const [toml, nearest] of [
    ['[bm]\nslot = 3', 'bm.slots'],
    ['[uns]\nmax_conections = 3', 'uns.max_connections'],
    ['[bot]\nuser_agents = "x"', 'bot.user_agent'],
    ['[bot]\nmax_content = "x"', 'bot.max_content_bytes'],
    ['[xlm]\ntoken_bytes = 3000', 'xml.token_bytes'],
  ] as const) {
    const expected = new RegExp(`did you mean ${nearest.replace('.', '\\.')}\\?$`);
    assert.throws(() => home(t, toml).load(), refusal('config', expected));
  }
});

test('a key that resembles nothing is refused without a guess', t => {
  assert.throws(() => home(t, 'zzzzzzzzzz = 1').load(), refusal('config', /unknown key zzzzzzzzzz$/));
  assert.throws(() => home(t, '[bm.slots]\nx = 1').load(), refusal('config', /bm\.slots/));
  assert.throws(() => home(t, '[__proto__]\nx = 1').load(), refusal('config', /__proto__/));
});

test('malformed TOML is refused with file, line and column', t => {
  const { file, load } = home(t, '[bm]\nslots = 3\nbots == 4\n');
  assert.throws(() => load(), refusal('config', new RegExp(`^${file}:3:\\d+: \\S`)));
});

test('the printed configuration, read again, is the same configuration', t => {
  const { dir, load } = home(
    t,
    '[net]\ntls_cert = "a \\"b\\" \\\\ é \\u007f \\t"\n[bot]\nallow_addresses = ["127.0.0.0/8", "::1"]\n',
  );
  const config = load({ overrides: { 'bm.slots': '5' } });
  const printed = printConfig(config);
  assert.match(printed, /^slots = 5 {2}# command line$/m);
  assert.match(printed, /^bots = 1 {2}# default$/m);
  const copy = join(dir, 'copy.toml');
  writeFileSync(copy, printed);
  const again = loadConfig({ env: { LCC_HOME: dir }, file: copy });
  for (const key of Object.keys(SETTINGS) as SettingKey[]) {
    assert.deepEqual(again.get(key), config.get(key), key);
    assert.equal(again.originOf(key), copy);
  }
});

test('a malformed network is refused with the file, the key and the network', t => {
  for (const bad of ['10.0.0.0/99', '::/129', 'example.org', '']) {
    const { file, load } = home(t, `[bot]\nallow_addresses = ["127.0.0.0/8", ${JSON.stringify(bad)}]\n`);
    assert.throws(load, (error: unknown) => {
      assert.ok(refusal('config', /: "[^"]*" is no network: write 192\.0\.2\.0\/24 or/)(error));
      assert.ok((error as Error).message.startsWith(`${file}: bot.allow_addresses = ["127.0.0.0/8",`));
      assert.ok((error as Error).message.includes(`"${bad}" is no network`));
      return true;
    });
  }
  const good = ['10.0.0.0/8', '::1', '192.0.2.1', 'fc00::/7'];
  const { load } = home(t, `[bot]\nallow_addresses = ${JSON.stringify(good)}\n`);
  assert.deepEqual(load().get('bot.allow_addresses'), good);
  assert.throws(
    () => load({ overrides: { 'bot.allow_addresses': ['10.0.0.0/99'] } }),
    refusal('usage', /^command line: bot\.allow_addresses = /),
  );
});

test('a robot may not be cut before its fetch ends by itself: both keys are named, either may be at fault', t => {
  const tooShort = home(t, '[bm]\nattempt_timeout_ms = "1s"\n');
  assert.throws(
    tooShort.load,
    refusal(
      'config',
      /^\/.*lcc\.toml: bm\.attempt_timeout_ms = 1000 \(\/.*\) must be more than bot\.total_timeout_ms = 120000 \(default\)$/,
    ),
  );
  assert.throws(
    home(t, '[bot]\ntotal_timeout_ms = "5min"\n').load,
    refusal('config', /300000 \(default\) must be/),
  );
  const together = home(t, '[bm]\nattempt_timeout_ms = "2s"\n[bot]\ntotal_timeout_ms = 1999\n').load();
  assert.equal(together.get('bm.attempt_timeout_ms'), 2000);
});

test('settings that contradict each other are refused with both keys, the defaults and equal ones are not', t => {
  for (const [toml, message] of [
    [
      'backoff_min_ms = "1d"\nbackoff_max_ms = "1s"',
      /: qm\.backoff_max_ms = 1000 \(.*\) must not be less than qm\.backoff_min_ms = 86400000 \(/,
    ],
  ] as const)
    assert.throws(() => home(t, `[qm]\n${toml}\n`).load(), refusal('config', message), toml);
  for (const [toml, message] of [
    [
      'xml.token_bytes = 1024',
      /: xml\.token_bytes = 1024 \(.*\) must not be less than xml\.url_bytes = 8192 \(default\)$/,
    ],
    [
      'lccd.restart_min_ms = "10s"',
      /: lccd\.restart_max_ms = 5000 \(default\) must not be less than lccd\.restart_min_ms = 10000 \(/,
    ],
    // A rail that hangs would be taken for one that sends a long page, and never be DOWN.
    [
      'clear.answer_timeout_ms = "1min"',
      /: clear\.total_timeout_ms = 60000 \(default\) must be more than clear\.answer_timeout_ms = 60000 \(/,
    ],
  ] as const)
    assert.throws(() => home(t, `${toml}\n`).load(), refusal('config', message), toml);
  for (const toml of ['backoff_min_ms = "1h"\nbackoff_max_ms = "1h"', 'expire_ms = "10d"'])
    assert.equal(home(t, `[qm]\n${toml}\n`).load().get('qm.retries'), 6, toml);
});

test('robots of a kept home give up before another machine owns it: pings are a second apart, and agree with the lease', t => {
  const store = '[store]\nurl = "mariadb://lcc@localhost/lcc"\n';
  assert.equal(home(t, store).load().get('wire.ping_interval_ms'), 1000);
  assert.equal(
    home(t, `${store}[wire]\nping_interval_ms = "800ms"\n`).load().get('wire.ping_interval_ms'),
    800,
  );
  assert.equal(home(t, '[cluster]\nlease_ms = "1s"\n').load().get('wire.ping_interval_ms'), 15_000);
  assert.throws(
    () => home(t, `${store}[cluster]\nlease_ms = "2.9s"\n`).load(),
    refusal('config', /cluster\.lease_ms = 2900 must be at least 3000: 2 × wire\.ping_interval_ms/),
  );
});

test('machines are hosts, with a port where it is another', t => {
  const of = (...names: string[]) => home(t, `[cluster]\nmachines = ${JSON.stringify(names)}\n`).load();
  assert.deepEqual(machinesOf(of('h1.example.org', '[::1]:7000', 'h2:65531').settings.cluster), [
    { name: 'h1.example.org', host: 'h1.example.org', port: 9020 },
    { name: '[::1]:7000', host: '::1', port: 7000 },
    { name: 'h2:65531', host: 'h2', port: 65_531 },
  ]);
  for (const bad of ['', '9020', 'tls:h1', 'unix:/x', 'h1:65532', 'a b', 'h1,h2'])
    assert.throws(() => of(bad), refusal('config', /cluster\.machines = .*: write a host/), bad);
});

test('metrics are given at an endpoint that names its port, or nowhere', t => {
  for (const daemon of ['uns', 'qm', 'bm', 'bot', 'cu', 'lccd'])
    for (const bad of ['foo', '[::1]', 'a b:1', 'unix:', ':', 'a:65536', '000080', 'unix:a\\nb'])
      assert.throws(
        () => home(t, `[${daemon}]\nmetrics_listen = "${bad}"\n`).load(),
        refusal('config', /metrics_listen = ".*": write host:port or unix:\/path; empty: none$/),
        bad,
      );
  for (const good of [
    '',
    '9464',
    ':9464',
    '127.0.0.1:9464',
    'localhost:0',
    '[::1]:9464',
    'tls:a:1',
    'unix:/a/b',
  ])
    assert.equal(home(t, `[qm]\nmetrics_listen = "${good}"\n`).load().get('qm.metrics_listen'), good);
});

test('endpoints to listen at are refused where they are written, by their key', t => {
  const keys = ['uns.listen', 'fe.listen', 'cu.listen', 'cu.http_listen', 'rs.listen', 'rs.operator_listen'];
  for (const key of [...keys, 'rs.vantages', 'spider.store_listen']) {
    const [section, name] = key.split('.');
    for (const bad of ['127.0.0.1:99999', '', '/run/x', 'unix:', 'a:b:c', 'a b:1'])
      assert.throws(
        () => home(t, `[${section}]\n${name} = ["localhost:1", "${bad}"]\n`).load(),
        refusal('config', new RegExp(`lcc\\.toml: ${key} = .*: write host:port, tls:host:port or`)),
        `${key} ${bad}`,
      );
    home(t, `[${section}]\n${name} = ["lcc.example.org", ":7", "[::1]:0", "tls:a:1", "unix:/a b"]\n`).load();
  }
});

test('texts that could not be used are refused where they are written, with what they should look like', t => {
  for (const [toml, message] of [
    ['[uns]\nmime = ["text"]', /uns\.mime = \["text"\]: write text\/html, text\/\* or \*\/\*$/],
    ['[bot]\nuser_agent = "x\\ny"', /bot\.user_agent = "x\\ny": use one line of Latin characters$/],
    ['[bot]\nuser_agent = ""', /bot\.user_agent = ""/],
    ['[bm]\nmachine_id = "a b"', /bm\.machine_id = "a b": use letters, digits, dots, dashes; at most 64$/],
    ['[uns]\nid = "../x"', /uns\.id = "\.\.\/x": use letters/],
    ['[uns]\nid = ".."', /uns\.id = "\.\.": use letters/],
  ] as const) {
    assert.throws(() => home(t, toml).load(), refusal('config', message));
  }
  const { load } = home(t, '[uns]\nmime = ["*/*", "text/*", "application/xhtml+xml"]\nid = "uns-2.eu"');
  assert.equal(load().get('uns.mime').length, 3);
});

test('a section has each of its settings by its name in code, with the value that is effective', t => {
  const { load } = home(t, '[qm]\nlane_window = 7\nslots = 168\n[bot]\nuser_agent = "me"\n');
  const config = load({ overrides: { 'bot.min_rate_bytes_per_s': '5' } });
  assert.equal(config.settings.qm.laneWindow, 7);
  assert.equal(config.settings.qm.slots, 168);
  assert.equal(config.settings.bot.userAgent, 'me');
  assert.equal(config.settings.bot.minRateBytesPerS, 5);
  assert.equal(config.settings.bm.bots, 1);
  const keys = Object.keys(SETTINGS) as SettingKey[];
  for (const key of keys) assert.deepEqual(valueOf(config.settings, key), config.get(key), key);
  const count = Object.values(config.settings).reduce((sum, each) => sum + Object.keys(each).length, 0);
  assert.equal(count, keys.length, 'two settings have one name');
});

test('a setting of an earlier version is refused with the name that it has now', t => {
  for (const [section, name, now] of [
    ['spider', 'list_timeout_ms', 'lists.timeout_ms'],
    ['spider', 'max_page_links', 'links.max_page_links'],
    ['spider', 'scan_per_day', 'links.scan_per_day'],
  ] as const) {
    const { file, load } = home(t, `[${section}]\n${name} = 7\n`);
    assert.throws(load, refusal('config', new RegExp(`^${file}: ${section}\\.${name} is ${now} now$`)));
  }
});

test('a setting that is a constant now is refused with a line that says so', t => {
  for (const key of ['qm.errors_kept', 'cluster.beat_ms', 'spider.spool_dir']) {
    assert.ok(!(key in SETTINGS), key);
    const { file, load } = home(t, `${key} = 7\n`);
    assert.throws(
      load,
      refusal('config', new RegExp(`^${file}: ${key} is a constant now; remove the line$`)),
    );
  }
});

test('there are few enough settings to read them all', () => {
  assert.ok(Object.keys(SETTINGS).length <= 230, `${Object.keys(SETTINGS).length}`);
});
