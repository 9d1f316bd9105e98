/** examples/prometheus, and the metrics of an LCC, as Debian's Prometheus and its promtool see them. */
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { FIGURES } from '../../src/commands/figures.js';
import { openDatabase } from '../../src/db/sqlite/open.js';
import { DAEMON_FIGURES, WHOLE_FIGURES } from '../../src/run/whole-figures.js';
import { freePort } from '../support/free-port.js';
import { startLcc, urlTag } from '../support/lcc.js';
import { longIt } from '../support/long.js';
import { TestSite } from '../support/site.js';
import { readProjectFile, ROOT } from '../support/tree.js';
import { until } from '../support/until.js';

const FOLDER = join(ROOT, 'examples/prometheus');
const RULES = readProjectFile('examples/prometheus/lcc.rules.yml');
const none = spawnSync('promtool', ['--version']).error !== undefined && 'no promtool';

interface Dashboard {
  panels: { title: string; targets: { expr: string }[] }[];
}
const dashboard = JSON.parse(readProjectFile('examples/prometheus/lcc.dashboard.json')) as Dashboard;
const ofRules = [...RULES.matchAll(/^ +expr: (.*)$/gm)].map(([, expr = '']) => expr);
const ofPanels = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));

function promtool(args: string[], options: { input?: string; cwd?: string } = {}): string {
  const { status, stdout, stderr } = spawnSync('promtool', args, {
    encoding: 'utf8',
    cwd: FOLDER,
    ...options,
  });
  assert.equal(status, 0, stdout + stderr);
  return stdout + stderr;
}

describe('examples/prometheus', () => {
  it('names only metrics that there are', () => {
    const rows = [WHOLE_FIGURES, DAEMON_FIGURES, ...Object.values(FIGURES)].flatMap(figures =>
      Object.values(figures).flatMap(({ metrics = [] }) => metrics.map(({ name }) => name)),
    );
    const known = new Set(rows);
    assert.ok(ofRules.length > 10 && ofPanels.length > 10);
    for (const expr of [...ofRules, ...ofPanels])
      for (const [name] of expr.matchAll(/\blcc_\w+/g)) assert.ok(known.has(name), `${expr}: ${name}`);
  });

  it('has panels that do not overlap, each with a title and something to show', () => {
    const { panels } = dashboard as unknown as {
      panels: { gridPos: Record<'x' | 'y' | 'w' | 'h', number> }[];
    };
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, i) => `${x + (i % w)} ${y + Math.floor(i / w)}`),
    );
    assert.equal(new Set(cells).size, cells.length);
    assert.ok(dashboard.panels.every(({ title, targets }) => title !== '' && targets.length > 0));
  });

  it('has rules, a configuration and expressions of panels that promtool accepts', { skip: none }, () => {
    promtool(['check', 'rules', 'lcc.rules.yml']);
    promtool(['check', 'config', 'prometheus.yml']);
    const groups = ofPanels.map((expr, i) => ({ record: `panel:number:${i}`, expr }));
    const dir = mkdtempSync(join(tmpdir(), 'lcc-panels-'));
    const path = join(dir, 'panels.json');
    writeFileSync(path, JSON.stringify({ groups: [{ name: 'panels', rules: groups }] }));
    promtool(['check', 'rules', path]);
    rmSync(dir, { recursive: true });
  });

  it('has rules of which each is quiet, and fires', { skip: none }, () => {
    const tests = readProjectFile('examples/prometheus/lcc.rules.test.yml');
    const alerts = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name = '']) => name);
    for (const name of alerts) {
      const [, own = ''] = new RegExp(`- name: ${name}\\n([^]*?)(?=\\n  - name:|$(?![^]))`).exec(tests) ?? [];
      assert.match(own, /exp_alerts: \[\]/, name);
      assert.match(own, /exp_alerts:\n/, name);
    }
    promtool(['test', 'rules', 'lcc.rules.test.yml']);
  });
});

describe('one endpoint of lccd', () => {
  it('has the figures of all daemons, to which promtool has nothing to say', { skip: none }, async () => {
    const site = await TestSite.listen();
    const lcc = await startLcc(`${site.url}/`, 'lccd.metrics_listen = "127.0.0.1:0"\n');
    try {
      await lcc.publish(site, { a: 'page a', b: 'page b' });
      const [, endpoint = ''] = /"event":"metrics: listening","endpoint":"([^"]+)"/.exec(lcc.log) ?? [];
      const text = await (await fetch(`http://${endpoint}/metrics`)).text();
      assert.equal(promtool(['check', 'metrics'], { input: text }), '');
      const has = (sample: string) => assert.ok(text.includes(`\n${sample}\n`), `${sample}\n${text}`);
      has('lcc_pages 2');
      has('lcc_store_bytes 12');
      has('lcc_providers 1');
      has('lcc_queue_oldest_seconds 0');
      has('lcc_qm_fetched_total{daemon="lccd-qm",result="stored"} 2');
      has('lcc_daemon_answers{daemon="lccd-uns"} 1');
      has('lcc_lccd_daemon_up{daemon="lccd-bm"} 1');
      assert.match(text, /^lcc_disk_free_bytes\{of="store"\} [1-9]\d+/m);
      // One that hangs is said, and the others are there all the same.
      const { pid } = (await lcc.daemons())['lccd-uns'] ?? {};
      process.kill(Number(pid), 'SIGSTOP');
      const without = await (await fetch(`http://${endpoint}/metrics`)).text();
      process.kill(Number(pid), 'SIGCONT');
      assert.match(without, /^lcc_daemon_answers\{daemon="lccd-uns"\} 0$/m);
      assert.match(without, /^lcc_daemon_answers\{daemon="lccd-qm"\} 1$/m);
      assert.doesNotMatch(without, /^lcc_uns_/m);
    } finally {
      await lcc.remove();
      site.close();
    }
  });

  longIt('is scraped by Debian’s Prometheus, whose panels show something, and whose rules fire', async () => {
    if (!existsSync('/usr/bin/prometheus')) return;
    const site = await TestSite.listen();
    const lcc = await startLcc(`${site.url}/`, 'lccd.metrics_listen = "127.0.0.1:0"\n');
    const dir = mkdtempSync(join(tmpdir(), 'lcc-prometheus-'));
    const port = await freePort();
    let stop = () => Promise.resolve();
    try {
      await lcc.publish(site, { a: 'page a' });
      const [, endpoint = ''] = /"event":"metrics: listening","endpoint":"([^"]+)"/.exec(lcc.log) ?? [];
      cpSync(FOLDER, dir, { recursive: true });
      // As they are, but that nobody waits for minutes.
      writeFileSync(join(dir, 'lcc.rules.yml'), RULES.replaceAll(/^ +for: .*\n/gm, ''));
      const config = readFileSync(join(dir, 'prometheus.yml'), 'utf8')
        .replace('localhost:9464', endpoint)
        .replace('scrape_interval: 30s', 'scrape_interval: 1s\n  evaluation_interval: 1s');
      writeFileSync(join(dir, 'prometheus.yml'), config);
      const args = [`--config.file=${dir}/prometheus.yml`, `--storage.tsdb.path=${dir}/data`];
      const server = spawn('/usr/bin/prometheus', [...args, `--web.listen-address=127.0.0.1:${port}`], {
        stdio: 'ignore',
      });
      const ended = new Promise<void>(resolve => void server.on('exit', () => resolve()));
      stop = () => (server.kill('SIGKILL'), ended);
      const api = async (
        path: string,
      ): Promise<{ result?: unknown[]; alerts?: Record<string, never>[]; groups?: unknown }> => {
        try {
          const answer = (await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()) as {
            data?: object;
          };
          return answer.data ?? {};
        } catch {
          return {};
        }
      };
      const shows = async (expr: string) =>
        ((await api(`query?query=${encodeURIComponent(expr)}`)).result ?? []).length > 0;
      const fires = (name: string) =>
        until(`${name} fires`, async () => {
          const { alerts = [] } = await api('alerts');
          return alerts.some(({ labels, state }: { labels?: { alertname?: string }; state?: string }) => {
            return labels?.alertname === name && state === 'firing';
          });
        });
      await until('it is scraped', () => shows('up{job="lcc"} == 1'));
      // A provider that sends daily and has not for a week; its urls wait since then.
      await lcc.run('lccctl pause -q');
      await lcc.deliver('partial', [urlTag('later')]);
      await lcc.deliver('partial', [urlTag('later2')]);
      await until('both wait', () => lcc.log.split('"event":"set absorbed"').length > 3);
      const db = openDatabase(join(lcc.home, 'lcc.db'));
      db.exec(`UPDATE pidb SET lastset = lastset - 7 * 86400, setevery = 86400;
        UPDATE qpsdb SET absorbedat = absorbedat - 7 * 86400`);
      db.close();
      for (const name of ['LccProviderSilent', 'LccQueueOld']) await fires(name);
      // Rates need two scrapes; no content user has been here.
      for (const expr of ofPanels.filter(each => !each.includes('lcc_cu_')))
        await until(`${expr} shows something`, () => shows(expr));
      const { pid } = (await lcc.daemons())['lccd-bm'] ?? {};
      process.kill(Number(pid), 'SIGSTOP');
      await fires('LccDaemonHangs');
      process.kill(Number(pid), 'SIGCONT');
      await lcc.stop();
      await fires('LccDown');
      const { groups } = await api('rules');
      const text = JSON.stringify(groups);
      assert.equal(
        [...text.matchAll(/"health":"ok"/g)].length,
        [...RULES.matchAll(/- alert:/g)].length,
        text,
      );
    } finally {
      await stop();
      await lcc.remove();
      site.close();
      rmSync(dir, { recursive: true, force: true });
    }
  });
});
