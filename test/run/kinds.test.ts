import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { loadConfig } from '../../src/config/load.js';
import { FLOW, KINDS, STOP_ORDER } from '../../src/run/kinds.js';

describe('The kinds of daemons', () => {
  it('are asked along the way of the work, which readers are not on', () => {
    assert.deepEqual(FLOW, [
      'lccd-uns',
      'lccd-qm',
      'lccd-bm',
      'lccbot',
      'lccd-hard',
      'lccd-soft',
      'lccd-keep',
    ]);
  });

  it('are stopped along the way of the work, readers before it, none left out', () => {
    assert.deepEqual(STOP_ORDER, ['lccd-cu', 'lccd-rs', ...FLOW]);
    assert.deepEqual([...STOP_ORDER].sort(), KINDS.map(({ name }) => name).sort());
  });

  it('connect only to sockets of kinds that are started before them', t => {
    const dir = mkdtempSync(join(tmpdir(), 'lcc-kinds-'));
    t.after(() => rmSync(dir, { recursive: true }));
    const config = loadConfig({
      env: { LCC_HOME: dir },
      overrides: {
        'bm.bots': '2',
        'cu.listen': ['127.0.0.1:0'],
        'rs.listen': ['127.0.0.1:0'],
        'clear.enabled': 'true',
      },
    });
    const listening = new Set<string>();
    const started: string[] = [];
    for (const kind of KINDS)
      for (const args of kind.children(config, file => `unix:${file}`)) {
        started.push(kind.name);
        for (const arg of args) {
          const [option, socket] = arg.split('=unix:');
          if (socket === undefined) continue;
          if (option?.startsWith('--listen') === true) listening.add(socket);
          else assert.ok(listening.has(socket), `${kind.name} ${arg}`);
        }
      }
    assert.deepEqual(started, [
      'lccd-qm',
      'lccd-bm',
      'lccd-uns',
      'lccd-cu',
      'lccd-rs',
      'lccd-hard',
      'lccd-soft',
    ]);
  });

  it('of several machines listen to the others, and look for the Queue Manager at them', () => {
    const overrides = {
      'cluster.machine': 'h2.example.org',
      'cluster.machines': ['h1.example.org', 'h2.example.org', 'h3.example.org:7000'],
    };
    const config = loadConfig({ env: { LCC_HOME: '/nowhere' }, overrides });
    const optionsOf = (name: string) =>
      KINDS.find(kind => kind.name === name)?.children(config, file => file)[0];
    const has = (name: string, ...options: string[]) => {
      for (const option of options) assert.ok(optionsOf(name)?.includes(option), `${name} ${option}`);
    };
    has('lccd-qm', '--listen-bm=qm-bm.sock', '--listen-bm=tls:0.0.0.0:9020');
    has('lccd-bm', '--listen-content=tls:0.0.0.0:9021');
    has('lccd-cu', '--listen-machines=tls:0.0.0.0:9022');
    assert.deepEqual(
      optionsOf('lccd-bm')?.filter(option => option.startsWith('--source')),
      ['--source=qm-bm.sock', '--source=tls:h1.example.org:9020', '--source=tls:h3.example.org:7000'],
    );
  });

  it('of a machine that is not among the machines are not started', () => {
    const overrides = { 'cluster.machine': 'h4', 'cluster.machines': ['h1', 'h2'] };
    const config = loadConfig({ env: { LCC_HOME: '/nowhere' }, overrides });
    for (const { name, children } of KINDS.filter(kind =>
      ['lccd-qm', 'lccd-bm', 'lccd-cu'].includes(kind.name),
    ))
      assert.throws(
        () => children(config, file => file),
        /cluster\.machines does not have this machine, "h4"/,
        name,
      );
  });

  it('that ask sites for anything are told which networks are permitted', () => {
    const overrides = { 'bot.allow_addresses': ['10.0.0.0/8', '::1'], 'rs.listen': ['127.0.0.1:0'] };
    const config = loadConfig({ env: { LCC_HOME: '/nowhere' }, overrides });
    const told = KINDS.filter(kind =>
      kind
        .children(config, file => file)
        .some(args => ['10.0.0.0/8', '::1'].every(network => args.includes(`--allow-address=${network}`))),
    );
    assert.deepEqual(
      told.map(({ name }) => name),
      ['lccd-bm', 'lccd-rs'],
    );
  });

  it('lccd-rs is told where the UNS really listens, unless a setting says what providers are told', () => {
    const told = (overrides: Record<string, string | string[]>) => {
      const all = { 'rs.listen': ['127.0.0.1:0'], ...overrides };
      const config = loadConfig({ env: { LCC_HOME: '/nowhere' }, overrides: all });
      const [args = []] = KINDS.find(({ name }) => name === 'lccd-rs')?.children(config, file => file) ?? [];
      return args.filter(arg => arg.startsWith('--uns='));
    };
    assert.deepEqual(told({}), ['--uns=127.0.0.1:9000']);
    assert.deepEqual(told({ 'uns.listen': ['9017', 'tls:0.0.0.0:9443'] }), ['--uns=127.0.0.1:9017']);
    assert.deepEqual(told({ 'uns.listen': ['tls:lcc.example.org:9443'] }), [
      '--uns=tls:lcc.example.org:9443',
    ]);
    assert.deepEqual(told({ 'rs.uns': 'tls:lcc.example.org:9443', 'uns.listen': ['9017'] }), []);
  });

  it('lccd-cu is started for HTTP alone, too', () => {
    const config = loadConfig({
      env: { LCC_HOME: '/nowhere' },
      overrides: { 'cu.http_listen': ['tls:0.0.0.0:9011'] },
    });
    const cu = KINDS.find(({ name }) => name === 'lccd-cu');
    assert.deepEqual(
      cu?.children(config, file => file),
      [['--http-listen=tls:0.0.0.0:9011']],
    );
  });

  it('robots are told to lccd-bm: how many, and how many fetches each does', () => {
    const config = loadConfig({
      env: { LCC_HOME: '/nowhere' },
      overrides: { 'bm.bots': '3', 'bm.slots': '7' },
    });
    const [args = []] = KINDS.find(({ name }) => name === 'lccd-bm')?.children(config, file => file) ?? [];
    assert.deepEqual(
      args.filter(arg => /^--(bots|slots)=/.test(arg)),
      ['--bots=3', '--slots=7'],
    );
  });

  it('that have not been asked for are not started', () => {
    const config = loadConfig({ env: { LCC_HOME: '/nowhere' } });
    const left = KINDS.filter(kind => kind.children(config, file => file).length === 0);
    assert.deepEqual(
      left.map(({ name }) => name),
      ['lccd-keep', 'lccbot', 'lccd-cu', 'lccd-rs', 'lccd-hard', 'lccd-soft'],
    );
  });
});
