/** The operator's program, whatever it does. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemClock } from '../../src/lib/clock.js';
import type { AlertEvent } from '../../src/run/alerts.js';
import { orderOf, tellBy } from '../../src/run/tell.js';
import { configOf, type Overrides } from '../support/settings.js';
import { until } from '../support/until.js';

const EVENTS: AlertEvent[] = [7, 8].map(pid => ({
  event: 'provider-silent',
  at: '2026-01-04T00:00:00Z',
  pid,
  last_set: '2026-01-01T00:00:00Z',
  interval_s: 86_400,
  text: `provider ${pid} is silent`,
}));

describe('the program that tells the operator', () => {
  let dir: string;
  beforeEach(() => (dir = mkdtempSync(join(tmpdir(), 'lcc-tell-'))));
  afterEach(() => rmSync(dir, { recursive: true }));

  const tell = (command: string, { timeoutMs = 30_000, stop = new AbortController().signal } = {}) => {
    const order = orderOf(settingsOf({ 'lccd.alert_command': command }));
    assert.ok(order !== undefined);
    return tellBy(order, { clock: systemClock, stop, timeoutMs })(EVENTS);
  };
  const settingsOf = (overrides: Overrides) => configOf(overrides).settings;

  it('gets an event a line', async () => {
    assert.equal(await tell(`cat >'${dir}/got'`), undefined);
    const lines = readFileSync(join(dir, 'got'), 'utf8').split('\n');
    assert.equal(lines.pop(), '');
    assert.deepEqual(
      lines.map(line => JSON.parse(line) as unknown),
      EVENTS,
    );
  });

  it('says by its exit status whether it has told', async () => {
    assert.equal(await tell('exit 3'), 'it exited with 3');
    assert.equal(await tell('kill -9 $$'), 'it was killed by SIGKILL');
    assert.equal(await tell('/nowhere/at/all'), 'it exited with 127');
    assert.equal(await tell('true'), undefined, 'without reading any of it');
  });

  it('that hangs is ended with all it has started', async () => {
    const left = `sh -c 'echo $$ >"${dir}/left"; exec tail -f /dev/null' & wait`;
    assert.equal(await tell(left, { timeoutMs: 500 }), 'it took more than 0.5 s');
    const pid = Number(readFileSync(join(dir, 'left'), 'utf8'));
    await until('what it started is gone', () => !existsSync(`/proc/${pid}`) || isZombie(pid));
  });

  it('that floods is not listened to', async () => {
    assert.equal(await tell('head -c 50000000 /dev/zero; head -c 50000000 /dev/zero >&2'), undefined);
  });

  it('is ended when lccd stops', async () => {
    const over = new AbortController();
    const telling = tell(`echo >'${dir}/runs'; tail -f /dev/null`, { stop: over.signal });
    await until('it runs', () => existsSync(join(dir, 'runs')));
    over.abort();
    assert.equal(await telling, 'lccd stops');
  });

  it('is sendmail where none is set and the Registration Server sends its mail so', async () => {
    const sendmail = join(dir, 'sendmail');
    writeFileSync(sendmail, `#!/bin/sh\necho "$@" >'${dir}/args'\ncat >'${dir}/mail'\n`, { mode: 0o755 });
    const rs = {
      'rs.operator_mail': 'op@example.org',
      'rs.smtp': sendmail,
      'rs.mail_from': 'lcc@example.org',
    };
    const order = orderOf(settingsOf(rs));
    assert.ok(order !== undefined);
    const stop = new AbortController().signal;
    assert.equal(await tellBy(order, { clock: systemClock, stop })(EVENTS), undefined);
    assert.equal(readFileSync(join(dir, 'args'), 'utf8'), '-i -- op@example.org\n');
    assert.match(
      readFileSync(join(dir, 'mail'), 'utf8'),
      /^To: op@example.org\nFrom: lcc@example.org\nSubject: [^\n]+\n(?:[^\n]+\n)*\nprovider 7 is silent\nprovider 8 is silent\n$/,
    );
    assert.equal(orderOf(settingsOf({ ...rs, 'rs.operator_mail': '' })), undefined);
    assert.equal(orderOf(settingsOf({ ...rs, 'rs.smtp': 'smtp://localhost' })), undefined);
  });
});

/** Gone, and nobody has asked how it ended. */
function isZombie(pid: number): boolean {
  try {
    return /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return true;
  }
}
