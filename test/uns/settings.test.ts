/** Settings of the UNS, with the real lccd-uns: each does what it is for. Those of a session are in limits and server. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { unsOptions } from '../../src/uns/options.js';
import { valueOf, type SettingKey } from '../../src/config/settings/index.js';
import { configOf, settingsOf } from '../support/settings.js';
import { Cp, init, newHome, newReceiver, set, SITE } from '../support/uns.js';
import { until } from '../support/until.js';

const setOf = (urls: string) => `<lococa:set set="partial" urlprefix="${SITE}">\n${urls}</lococa:set>\n`;

/** The answer of a UNS with these settings to a set with these urls. */
async function told(toml: string, urls: string): Promise<string> {
  const home = newHome();
  const password = home.addProvider(7);
  home.configure(toml);
  const daemon = await home.start();
  const reply = await new Cp(daemon.port).send(init(7, password) + setOf(urls)).reply;
  await daemon.stop();
  return reply;
}

describe('settings of a real lccd-uns', () => {
  for (const [key, value, said, urls] of [
    [
      'xml.token_bytes',
      8192,
      '8192 characters',
      `<url curl="a" mimetype="text/html" x="${'y'.repeat(9000)}"/>`,
    ],
    ['xml.url_bytes', 256, '256 bytes', `<url curl="${'a'.repeat(300)}" mimetype="text/html"/>`],
  ] as const) {
    it(`${key} bounds what a CP may send`, async () => {
      const [section, name] = key.split('.');
      const reply = await told(`[${section}]\n${name} = ${value}\n`, urls);
      assert.ok(reply.includes(`${said} (${key})`), reply);
      assert.doesNotMatch(await told('', urls), /\(xml\./);
    });
  }

  it('uns.mime says which content is taken', async () => {
    const urls = '<url curl="a" mimetype="text/html"/>\n<url curl="b" mimetype="image/png"/>\n';
    assert.match(await told('[uns]\nmime = ["text/*"]\n', urls), /<set_accepted received="1"/);
    assert.match(await told('', urls), /<set_accepted received="2"/);
  });

  it('there are 16 connections to the Queue Manager', async () => {
    const home = newHome();
    const sockets = new Set<Socket>();
    const server = createServer(socket => void sockets.add(socket.on('error', () => undefined)));
    await once(server.listen(home.qmPath), 'listening');
    const daemon = await home.start();
    await until('16 connections are there', () => sockets.size >= 16);
    await daemon.stop();
    assert.equal(sockets.size, 16);
    for (const socket of sockets) socket.destroy();
    server.close();
  });

  it('uns.qm_timeout_ms says when a set that has no answer is sent again', async () => {
    const home = newHome();
    const password = home.addProvider(7);
    const receiver = await newReceiver(home);
    receiver.answer = () => 'hang';
    home.configure('[uns]\nqm_timeout_ms = 1000\n');
    const daemon = await home.start();
    await new Cp(daemon.port).send(init(7, password) + set('partial', 'a')).reply;
    await daemon.logged('no answer in time (uns.qm_timeout_ms)');
    receiver.answer = () => 'absorbed';
    await daemon.logged('set absorbed');
    assert.ok(receiver.sets.length >= 2);
    await daemon.stop();
  });
});

it('every setting of the UNS reaches the option it is for', () => {
  const limits = {
    'uns.max_connections': 11,
    'uns.max_connections_per_address': 12,
    'uns.max_connections_per_provider': 13,
    'uns.login_timeout_ms': 1001,
    'uns.idle_timeout_ms': 1002,
    'uns.min_rate_bytes_per_s': 14,
    'uns.session_timeout_ms': 1003,
    'uns.max_set_urls': 16,
    'uns.max_set_bytes': 1026,
    'uns.max_spool_bytes': 1_048_577,
  };
  const others = {
    'uns.id': 'u2',
    'uns.min_free_disk_percent': '17',
    'uns.min_free_disk_bytes': '1MB',
    'uns.mime': ['text/*'],
    'uns.qm_timeout_ms': '1004',
    'xml.url_bytes': '257',
    'qm.full_set_period_ms': '3600001',
  };
  const given = Object.entries(limits).map(([key, value]) => [key, String(value)]);
  const overrides = { ...Object.fromEntries(given), ...others };
  const options = unsOptions(configOf(overrides), Infinity);
  for (const [key, value] of Object.entries(limits))
    assert.equal(valueOf({ uns: options.limits }, key as SettingKey), value, key);
  assert.deepEqual(options.minFree, { percent: 17, bytes: 2 ** 20, whose: 'uns' });
  const { id, mimes, qmTimeoutMs, maxUrlBytes, fullSetPeriodMs } = options;
  assert.deepEqual(
    { id, mimes, qmTimeoutMs, maxUrlBytes, fullSetPeriodMs },
    {
      id: 'u2',
      mimes: ['text/*'],
      qmTimeoutMs: 1004,
      maxUrlBytes: 257,
      fullSetPeriodMs: 3_600_001,
    },
  );
  const elsewhere = ['uns.listen', 'uns.metrics_listen'];
  const { all, named } = settingsOf('uns', [...Object.keys(overrides), ...elsewhere]);
  assert.deepEqual(named, all);
});
