import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createNetServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { metricsEndpoint, serveMetrics } from '../../src/web/metrics.js';
import type { WebServer } from '../../src/web/server.js';
import { FIGURES as ALL_FIGURES } from '../../src/commands/figures.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { counter, countOf, gauge, type Figures } from '../../src/daemon/figures.js';
import { OF_EVERY_DAEMON, startDaemon, statusOf, type Daemon } from '../support/daemon.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { readProjectFile } from '../support/tree.js';
import { until } from '../support/until.js';
import { runCommand } from '../support/command.js';
import { DAEMON_FIGURES, WHOLE_FIGURES } from '../../src/run/whole-figures.js';
import { ask, ground } from './support.js';
import { longIt } from '../support/long.js';

interface Family {
  name: string;
  type: string;
  samples: { name: string; labels: string; value: number }[];
}

/** Reads the text format as Prometheus does; throws where it would. */
function parseMetrics(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'));
  const families = new Map<string, Family>();
  for (const line of text.split('\n').filter(each => each !== '' && !each.startsWith('# HELP '))) {
    const type = /^# TYPE ([a-z_]\w*) (counter|gauge|histogram|summary)$/.exec(line);
    if (type !== null) {
      const [, name = '', kind = ''] = type;
      assert.equal(families.has(name), false, `${name} twice`);
      families.set(name, { name, type: kind, samples: [] });
      continue;
    }
    const sample =
      /^([a-z_]\w*)(\{(?:[a-z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? (-?\d+(?:\.\d+)?(?:e[+-]?\d+)?|[+-]Inf|Na[Nn])$/.exec(
        line,
      );
    assert.ok(sample, `not in the format: ${line}`);
    const [, name = '', labels = '', value = ''] = sample;
    const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''));
    assert.ok(family, `${name} without a type`);
    assert.equal(
      family.samples.some(each => each.name === name && each.labels === labels),
      false,
      `${line} twice`,
    );
    family.samples.push({ name, labels, value: Number(value.replace('Inf', 'Infinity')) });
  }
  return families;
}

/** Names of the metrics of every process that the manual lists. */
function ofEveryProcess(): string[] {
  const [, list = ''] = /^\.Ss Every process$([^]*?)^\.El$/m.exec(readProjectFile('man/lcc-metrics.5')) ?? [];
  return [...list.matchAll(/^\.It Cm (\w+)$/gm)].map(([, name = '']) => name);
}

/** This LCC has no engine, and so neither of the daemons that are there for one. */
const { 'lccd-keep': _keep, 'lccd-fe': _fe, ...FIGURES } = ALL_FIGURES;

describe('metrics of a whole LCC', () => {
  let lcc: Lcc;
  let relay: Daemon;
  /** Those of the Spider: a URL server whose url nobody asks for, a spider whose servers are away. */
  let spiders: Daemon[] = [];
  before(async () => {
    lcc = await startLcc(
      'http://127.0.0.1:9/',
      `[bot]
metrics_listen = "0"
[uns]
metrics_listen = "127.0.0.1:0"
[qm]
metrics_listen = "0"
[bm]
metrics_listen = "0"
[cu]
listen = ["127.0.0.1:0"]
metrics_listen = "0"
[lccd]
metrics_listen = "0"
[rs]
listen = ["127.0.0.1:0"]
url = "http://127.0.0.1/"
metrics_listen = "0"
[spider]
store_metrics_listen = "127.0.0.1:0"
urld_metrics_listen = "127.0.0.1:0"
spider_metrics_listen = "127.0.0.1:0"
[clear]
enabled = true
refresh_ms = 10
hard_metrics_listen = "0"
soft_metrics_listen = "0"
`,
    );
    await lcc.run(
      'lccrail target add www; lccrail add -q --target=www --url=http://127.0.0.1:9/ --driver=nginx-dav www1',
    );
    relay = lcc.startDaemon(
      'lccd-bm',
      `--source=unix:${lcc.home}/run/qm-bm.sock`,
      `--listen=unix:${lcc.home}/relay.sock`,
    );
    const list = join(lcc.dir, 'urls');
    writeFileSync(list, 'http://127.0.0.1:9/\n');
    spiders = [
      lcc.startDaemon('lccurld', '--listen=127.0.0.1:0', `--file=${list}`),
      lcc.startDaemon('lccspider', '--urlserver=127.0.0.1:9', '--store=127.0.0.1:9'),
      lcc.startDaemon('lccstored', '--listen=127.0.0.1:0'),
    ];
    await Promise.all([relay, ...spiders].map(daemon => daemon.ready));
    const db = openDatabase(join(lcc.home, 'lcc.db'));
    db.exec('UPDATE pidb SET lastset = 1, setevery = 60');
    db.close();
    for (const daemon of ['lccd-hard', 'lccd-soft'])
      await until(`${daemon} has read of the rail`, async () =>
        /rail="www1"/.test(await metricsText(daemon)),
      );
  });
  after(async () => {
    await lcc.remove();
  });

  const metricsText = async (daemon: string) => {
    const endpoint = new RegExp(`"daemon":"${daemon}","event":"metrics: listening","endpoint":"([^"]+)"`);
    const response = await fetch(`http://${endpoint.exec(lcc.log)?.[1]}/metrics`);
    return response.text();
  };

  /** What a daemon says now: the value of a metric, of its only sample or of the one with these labels. */
  const of = async (daemon: string) => {
    const metrics = parseMetrics(await metricsText(daemon));
    return (name: string, labels = '') =>
      metrics.get(name)?.samples.find(sample => sample.labels === labels)?.value;
  };

  it('are those of the figures and of every process, both ways, each with a value and in the format of Prometheus', async () => {
    const endpoints = [
      ...[lcc, relay, ...spiders]
        .map(({ log }) => log)
        .join('')
        .matchAll(/"event":"metrics: listening","endpoint":"(127\.0\.0\.1:\d+)"/g),
    ];
    assert.equal(endpoints.length, 10 + spiders.length);
    const all: Family[] = [];
    for (const [, endpoint] of endpoints) {
      const response = await fetch(`http://${endpoint}/metrics`);
      assert.equal(response.status, 200);
      assert.equal(response.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8');
      all.push(...parseMetrics(await response.text()).values());
    }
    const rows = [WHOLE_FIGURES, DAEMON_FIGURES, ...Object.values(FIGURES)].flatMap(figures =>
      Object.values(figures).flatMap(({ metrics = [] }) => metrics),
    );
    const ours = new Set(['lcc_build_info gauge', ...rows.map(({ name, kind }) => `${name} ${kind}`)]);
    const process = ofEveryProcess();
    assert.ok(process.length > 20);
    const printed = all.filter(({ name }) => name.startsWith('lcc_'));
    const names = new Set(printed.map(({ name, type }) => `${name} ${type}`));
    assert.deepEqual([...names].sort(), [...ours].sort());
    assert.deepEqual(
      printed.filter(({ samples }) => samples.length === 0).map(({ name }) => name),
      [],
    );
    for (const { name, type } of printed) assert.equal(name.endsWith('_total'), type === 'counter', name);
    const others = new Set(all.map(({ name }) => name).filter(name => !name.startsWith('lcc_')));
    assert.deepEqual([...others].sort(), process.toSorted());
  });

  it('are at lccd those of all daemons, with their names', async () => {
    const all = parseMetrics(await metricsText('lccd'));
    for (const [kind, figures] of Object.entries(FIGURES).filter(([name]) => name !== 'lccd'))
      for (const { name } of Object.values(figures).flatMap(({ metrics = [] }) => metrics)) {
        const [sample] = all.get(name)?.samples ?? [];
        assert.match(sample?.labels ?? '', new RegExp(`daemon="${kind}`), `${kind}: ${name}`);
      }
  });

  it('are of fields that their daemon reports, each of them and no other', async () => {
    for (const [kind, figures] of Object.entries(FIGURES)) {
      const names = kind === 'lccd-bm' ? [kind, 'lccd-bm-relay'] : [kind];
      const statuses = await Promise.all(names.map(name => statusOf(lcc.home, name)));
      const reported = new Set(statuses.flatMap(each => Object.keys(each)));
      assert.deepEqual(
        [...reported].toSorted(),
        [...OF_EVERY_DAEMON, ...Object.keys(figures)].toSorted(),
        kind,
      );
    }
  });

  it('count what has been done', async () => {
    await lcc.run('lccctl pause');
    await lcc.announce([urlTag('a')]);
    await until('a url is queued', async () => (await of('lccd-qm'))('lcc_qm_queue_urls') === 1);
    assert.equal((await of('lccd-uns'))('lcc_uns_urls_accepted_total'), 1);
  });

  it('tell the version that runs', async () => {
    const { version } = JSON.parse(readProjectFile('package.json')) as { version: string };
    for (const daemon of ['lccd', 'lccbot'])
      assert.equal((await of(daemon))('lcc_build_info', `{version="${version}"}`), 1);
  });

  it('count a daemon that was killed -9 among those that were started again', async () => {
    const child = async (metric: string, daemon: string) =>
      (await of('lccd'))(`lcc_lccd_daemon_${metric}`, `{daemon="${daemon}"}`);
    const daemons = ['lccd-qm', 'lccd-bm', 'lccd-uns', 'lccd-cu', 'lccd-rs', 'lccd-hard', 'lccd-soft'];
    for (const daemon of daemons) {
      assert.equal(await child('up', daemon), 1, daemon);
      assert.equal(await child('restarts_total', daemon), 0, daemon);
      assert.equal(await child('waiting', daemon), 0, daemon);
      assert.equal(await child('held_up', daemon), 0, daemon);
    }
    const startedS = (await child('start_time_seconds', 'lccd-bm')) ?? 0;
    assert.ok(Math.abs(Date.now() / 1000 - startedS) < 3600);
    const { pid } = await statusOf(lcc.home, 'lccd-bm');
    process.kill(Number(pid), 'SIGKILL');
    await until(
      'a Bot Manager is started again',
      async () => (await child('restarts_total', 'lccd-bm')) === 1,
    );
    await until('it is up', async () => (await child('up', 'lccd-bm')) === 1);
    assert.ok(((await child('start_time_seconds', 'lccd-bm')) ?? 0) >= startedS);
    for (const daemon of daemons.filter(each => each !== 'lccd-bm'))
      assert.equal(await child('restarts_total', daemon), 0, daemon);
    const { children } = (await statusOf(lcc.home, 'lccd')) as { children: Record<string, unknown>[] };
    assert.deepEqual(
      children.map(({ name, last_end: end }) => [name, end]),
      daemons.map(name => [name, name === 'lccd-bm' ? 'was killed by SIGKILL' : null]),
    );
  });

  longIt('are not served, and nothing of them is loaded, unless asked for', async () => {
    const other = await startLcc('http://127.0.0.1:9/');
    try {
      assert.doesNotMatch(other.log, /metrics/);
    } finally {
      await other.remove();
    }
  });
});

describe('a metrics endpoint', () => {
  it('that another process has is named with its key', async () => {
    const home = mkdtempSync(join(tmpdir(), 'lcc-metrics-'));
    const other = createNetServer();
    await new Promise<void>(resolve => void other.listen(0, '127.0.0.1', resolve));
    const { port: taken } = other.address() as AddressInfo;
    writeFileSync(join(home, 'lcc.toml'), `[uns]\nmetrics_listen = "${taken}"\n`);
    const args = [`--listen=unix:${home}/uns.sock`, `--qm=unix:${home}/qm.sock`];
    const { status, stderr } = runCommand(home, 'lccd-uns', args);
    assert.equal(status, 69);
    assert.match(stderr, new RegExp(`"error":"uns\\.metrics_listen: [^"]*${taken}: address in use by `));
    other.close();
    rmSync(home, { recursive: true });
  });

  it('that another setting names too is told with that setting', async () => {
    const home = mkdtempSync(join(tmpdir(), 'lcc-metrics-'));
    const other = createNetServer();
    await new Promise<void>(resolve => void other.listen(0, '127.0.0.1', resolve));
    const { port: taken } = other.address() as AddressInfo;
    const listens = {
      uns: `${taken}`,
      qm: `0.0.0.0:${taken}`,
      bot: `${taken - 1}`,
      cu: `[::1]:${taken}`,
      bm: '',
    };
    writeFileSync(
      join(home, 'lcc.toml'),
      Object.entries(listens).reduce((toml, [of, text]) => `${toml}${of}.metrics_listen = "${text}"\n`, '') +
        'bm.bots = 2\n',
    );
    const args = [`--listen=unix:${home}/uns.sock`, `--qm=unix:${home}/qm.sock`];
    const { status, stderr } = runCommand(home, 'lccd-uns', args);
    assert.equal(status, 69);
    assert.match(stderr, / listen at another; named too by qm\.metrics_listen, bot\.metrics_listen"/);
    other.close();
    rmSync(home, { recursive: true });
  });

  longIt(
    'of lccd that another process has ends it, once its daemons have stopped in their order',
    async () => {
      const home = mkdtempSync(join(tmpdir(), 'lcc-metrics-'));
      const other = createNetServer();
      await new Promise<void>(resolve => void other.listen(0, '127.0.0.1', resolve));
      const { port: taken } = other.address() as AddressInfo;
      writeFileSync(join(home, 'lcc.toml'), `[lccd]\nmetrics_listen = "${taken}"\n`);
      const lccd = startDaemon('lccd', home, [`--listen=unix:${home}/uns.sock`]);
      assert.equal(await lccd.ended, 69);
      assert.match(lccd.log, new RegExp(`"error":"lccd\\.metrics_listen: [^"]*${taken}: address in use by `));
      const stops = [...lccd.log.matchAll(/"daemon":"([\w-]+)","event":"stopping"/g)].map(found => found[1]);
      assert.deepEqual(stops, ['lccd-uns', 'lccd-qm', 'lccd-bm']);
      other.close();
      rmSync(home, { recursive: true });
    },
  );

  it('without a host is on loopback; further robots get further ports', () => {
    assert.deepEqual(metricsEndpoint('9464', ''), { kind: 'tcp', host: '127.0.0.1', port: 9464 });
    assert.deepEqual(metricsEndpoint('9464', '1'), { kind: 'tcp', host: '127.0.0.1', port: 9464 });
    assert.deepEqual(metricsEndpoint('9464', '3'), { kind: 'tcp', host: '127.0.0.1', port: 9466 });
    assert.deepEqual(metricsEndpoint('9464', 'b'), { kind: 'tcp', host: '127.0.0.1', port: 9464 });
    assert.deepEqual(metricsEndpoint('0', '3'), { kind: 'tcp', host: '127.0.0.1', port: 0 });
    assert.deepEqual(metricsEndpoint('unix:/m', '3'), { kind: 'unix', path: '/m' });
    assert.throws(() => metricsEndpoint('65535', '2'), /no port is left/);
    assert.throws(() => metricsEndpoint('unix:', ''), /endpoint "unix:"/);
  });
});

describe('the door of metrics', { timeout: 60_000 }, () => {
  const kinds = { name: 'kinds_total', label: 'kind', help: 'K' };
  const figures: Figures = {
    a: counter('a_total', 'A'),
    b: gauge('b', 'B'),
    list: gauge('list', 'L'),
    away: gauge('away', 'W'),
    x: countOf(kinds, 'x'),
    y: countOf(kinds, 'y'),
  };
  const { services, limits } = ground({ after });
  let status: () => Record<string, unknown> = () => ({ a: 3, b: true, list: [1, 2], x: 3, y: 1 });
  let server: WebServer;
  before(async () => {
    const endpoint = { kind: 'tcp', host: '127.0.0.1', port: 0 } as const;
    server = await serveMetrics(endpoint, services, limits, '', () =>
      Promise.resolve().then(() => [{ figures, status: status() }]),
    );
  });
  after(() => server.close());

  it('reads numbers, truth, lengths and labels from a status; what is not there has no value', async () => {
    const families = parseMetrics((await ask(server, '/metrics?x=y')).body);
    const values = (name: string) =>
      families.get(name)?.samples.map(({ labels, value }) => `${labels}${value}`);
    assert.deepEqual(values('a_total'), ['3']);
    assert.deepEqual(values('b'), ['1']);
    assert.deepEqual(values('list'), ['2']);
    assert.deepEqual(values('kinds_total'), ['{kind="x"}3', '{kind="y"}1']);
    assert.equal(values('away'), undefined);
  });

  it('is the only one', async () => {
    assert.equal((await ask(server, '/')).body, 'metrics are at /metrics\n');
    for (const path of ['/metrics/..%2f', '//metrics', '/METRICS', '/%6detrics', '/metrics//'])
      assert.equal((await ask(server, path)).status, 404, path);
    assert.equal((await ask(server, '/metrics/?x=/y/')).status, 200);
    const { status: refused, headers } = await ask(server, '/metrics', { method: 'POST' });
    assert.deepEqual([refused, headers.allow], [405, 'GET, HEAD']);
    const head = await ask(server, '/metrics', { method: 'HEAD' });
    assert.deepEqual([head.status, head.body], [200, '']);
  });

  it('says 500 when the status cannot be had, and goes on', async () => {
    const before = status;
    status = () => {
      throw new Error('no');
    };
    assert.equal((await ask(server, '/metrics')).status, 500);
    status = before;
    assert.equal((await ask(server, '/metrics')).status, 200);
  });
});
