import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import { createServer as createNetServer } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { freePort } from '../support/free-port.js';
import { type Lcc, startLcc, urlTag } from '../support/lcc.js';
import { until } from '../support/until.js';
import { longIt } from '../support/long.js';

/** A site that can be away (nobody listens), or hold its answers back. */
class Site {
  holding = false;
  asked: string[] = [];
  url = '';
  readonly #held: ServerResponse[] = [];
  #port = 0;
  #onAsked: (() => void) | undefined;
  readonly #server = createServer((request, response) => {
    this.asked.push(request.url ?? '');
    this.#onAsked?.();
    if (this.holding) this.#held.push(response);
    else response.end('page');
  });

  /** Listens, on the same port every time: one that no connection of anybody takes meanwhile. */
  async listen(): Promise<void> {
    if (this.#port === 0) this.#port = await freePort();
    await new Promise<void>(resolve => void this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.url = `http://127.0.0.1:${this.#port}/`;
  }

  /** Resolves with the next request. */
  nextAsked(): Promise<void> {
    return new Promise(resolve => (this.#onAsked = resolve));
  }

  /** Answers what it holds, and everything from now on. */
  release(): void {
    this.holding = false;
    for (const response of this.#held.splice(0)) response.end('page');
  }

  close(): Promise<void> {
    const closed = new Promise<void>(resolve => void this.#server.close(() => resolve()));
    this.#server.closeAllConnections();
    return closed;
  }
}

/** Waits far longer than any test by default: what goes on at once goes on because it was told to. */
const TOML = `[qm]
backoff_min_ms = "1h"
retry_delay_ms = "1h"
`;

describe('lccctl', () => {
  const site = new Site();
  let lcc: Lcc;

  before(async () => {
    await site.listen();
    lcc = await startLcc(site.url, TOML);
  });
  after(async () => {
    await site.close();
    await lcc.remove();
  });

  const announce = (names: readonly string[]) => {
    return lcc.announce(names.map(name => urlTag(name)));
  };
  const queueManager = async (): Promise<Record<string, unknown>> => (await lcc.daemons())['lccd-qm'] ?? {};
  const says = (what: string, isSo: (status: Record<string, unknown>) => boolean) =>
    until(what, async () => {
      const status = await queueManager();
      return isSo(status) && status;
    });

  it('pauses: what has begun ends, nothing more is fetched, what is announced meanwhile waits', async () => {
    site.holding = true;
    const asked = site.nextAsked();
    await announce(Array.from({ length: 20 }, (_, i) => `paused/${i}`));
    await asked;
    assert.deepEqual(await lcc.sh('lccctl pause --pid=1'), {
      status: 0,
      stdout: '',
      stderr: 'lccctl: provider 1 is paused\n',
    });
    // What was sent ahead and not begun comes back, while the one that has begun is still being answered.
    await says('one is being fetched', status => status['in_flight'] === 1);
    site.release();
    await says('none is being fetched', status => status['in_flight'] === 0);
    assert.equal(site.asked.length, 1);
    await announce(['paused/later']);
    assert.equal((await says('20 are queued', status => status['rows_queued'] === 20))['in_flight'], 0);
    assert.equal(site.asked.length, 1);
    assert.equal((await lcc.sh('lccctl pause --pid=1')).stderr, 'lccctl: provider 1 is paused already\n');
  });

  it('stays paused over a restart, and goes on when resumed', async () => {
    await lcc.stop();
    await lcc.start();
    await says(
      'a Bot Manager is there',
      status => Array.isArray(status['bot_managers']) && status['bot_managers'].length === 1,
    );
    assert.equal(site.asked.length, 1);
    assert.equal((await lcc.sh('lccctl resume')).stderr, 'lccctl: the one provider is no longer paused\n');
    await lcc.idle();
    assert.deepEqual(new Set(site.asked).size, 21);
  });

  longIt('flush makes a site in back-off be tried at once', async () => {
    await site.close();
    await announce(['backoff/1', 'backoff/2']);
    await lcc.shows('lccpidb show --pid=1 --json', /"backoffuntil":[1-9]/);
    await site.listen();
    assert.equal(
      (await lcc.sh('lccctl flush --pid=1')).stderr,
      'lccctl: the delays of provider 1 are forgotten, what failed is tried at once\n',
    );
    await lcc.idle();
    assert.ok(site.asked.includes('/backoff/1') && site.asked.includes('/backoff/2'));
    assert.equal(
      (await lcc.sh('lccctl flush')).stderr,
      'lccctl: the one provider has no delay; what failed is tried at once\n',
    );
  });

  longIt('want-full makes the next lcccp of a pipe send all it has', async () => {
    mkdirSync(join(lcc.dir, 'docs'));
    for (const name of ['a.html', 'b.html']) writeFileSync(join(lcc.dir, 'docs', name), name);
    const pipe =
      `file2url --find docs -name '*.html' | lcccpstate --statefile=state | ` +
      `lcccp -v --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}`;
    const delivered = async () => (await lcc.sh(pipe)).stderr;
    assert.match(await delivered(), /\bpartial\b/);
    assert.match((await lcc.sh('lccctl want-full')).stderr, /the one provider will be asked for a full set/);
    assert.match(await lcc.run(`lcccp --status --uns=${lcc.uns} --pid=1`), /one is wanted \(operator\)/);
    assert.match(
      (await lcc.sh('lccctl want-full --pid=1')).stderr,
      /provider 1 will be asked for a full set anyway$/m,
    );
    writeFileSync(join(lcc.dir, 'docs/c.html'), 'c.html');
    assert.match(await delivered(), /\bfull\b/);
    await lcc.idle();
    // The full set named the three of the pipe: what was announced besides is gone.
    assert.equal(await lcc.run('lccq --count --no-deleted'), '3\n');
    writeFileSync(join(lcc.dir, 'docs/d.html'), 'd.html');
    assert.match(await delivered(), /\bpartial\b/);
  });

  it('release does the removals that the fuse holds back, discard drops them', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `fuse/${i}`);
    const remove = async (which: readonly string[]) => {
      await lcc.lcccp(which.map(name => urlTag(name, ' op="delete"')));
      await lcc.shows('lccstat', /removals? of 1 provider (is|are) held back/);
    };
    const count = async () => Number(await lcc.run(`lccq --count --no-deleted --prefix=${site.url}fuse/`));
    await lcc.run('lccpidb set --pid=1 --fuse-percent=0 --fuse-urls=2');
    await announce(names);
    await lcc.idle();
    await remove(names.slice(0, 5));
    assert.match(await lcc.run('lccstat --queue'), / 5 removals held back/);
    assert.equal(
      (await lcc.sh('lccctl discard')).stderr,
      'lccctl: the removals held back for the one provider are dropped\n' +
        'lccctl: what they named stays until the provider removes it again, or a full set without it is taken: ' +
        'lccctl want-full asks for one\n',
    );
    // Nothing is held any more, nothing follows from it.
    assert.equal(
      (await lcc.sh('lccctl discard')).stderr,
      'lccctl: no removals of the one provider are held back\n',
    );
    await lcc.idle();
    assert.equal(await count(), 12);
    await remove(names.slice(0, 6));
    assert.equal(
      (await lcc.sh('lccctl release --pid=1')).stderr,
      'lccctl: the removals held back for provider 1 are carried out\n',
    );
    await until('6 are removed', async () => (await count()) <= 6);
    assert.equal(await count(), 6);
    assert.match(
      (await lcc.sh('lccctl release --pid=1')).stderr,
      /^lccctl: no removals of provider 1 are held back$/m,
    );
  });

  it('tells all providers when none is named, and says how many', async () => {
    await lcc.run(`lccpidb add --pid=2 --root=${site.url}`);
    await lcc.run('lccctl pause --pid=2');
    assert.equal(
      (await lcc.sh('lccctl pause')).stderr,
      'lccctl: all 2 providers are paused (1 paused before)\n',
    );
    assert.equal((await lcc.sh('lccctl pause')).stderr, 'lccctl: all 2 providers are paused already\n');
    assert.equal((await lcc.sh('lccctl release')).stderr, 'lccctl: no removals are held back\n');
    assert.equal((await lcc.sh('lccctl -q resume')).stderr, '');
    assert.equal((await lcc.sh('lccctl resume')).stderr, 'lccctl: no provider was paused\n');
  });

  it('refuses a provider that is not there, and words that are no action', async () => {
    for (const [args, complaint] of [
      ['pause --pid=99', /no provider 99; see lccpidb list/],
      ['pause --pid=x', /--pid=x: give the provider's number/],
      ['pause --timeout=0', /--timeout=0: give seconds, 0\.001 to 3600$/m],
      ['pause --timeout=0.0001', /--timeout=0\.0001: give seconds, 0\.001 to 3600$/m],
      ['pause --timeout=5s', /--timeout=5s: give seconds, 0\.001 to 3600$/m],
      ['pause --pid=1 --pid=2', /--pid <N>: given twice, as 1 and as 2/],
      ['stop', /"stop" is no action; give one of pause, resume, /],
      ['pause 1', /"pause 1" is no action/],
      ['', /nothing to do; give one of/],
    ] as const) {
      const { status, stderr } = await lcc.sh(`lccctl ${args}`);
      assert.equal(status, 64, args);
      assert.match(stderr, complaint);
    }
  });

  longIt('gives a hung Queue Manager up in time, and says that nobody knows whether it is done', async () => {
    const pid = Number((await queueManager())['pid']);
    assert.ok(pid > 0);
    process.kill(pid, 'SIGSTOP');
    try {
      assert.deepEqual(await lcc.sh('lccctl pause --pid=2 --timeout=2'), {
        status: 75,
        stdout: '',
        stderr:
          'lccctl: lccd-qm has not answered (no answer within 2 s): not known whether "pause --pid=2" is done, and it may yet be; ' +
          'see lccstat, then say it again\n',
      });
    } finally {
      process.kill(pid, 'SIGCONT');
    }
    // It was told, and does so once it goes on.
    await lcc.shows('lccpidb show --pid=2 --json', /"paused":1/);
    assert.match(
      (await lcc.sh('lccctl resume --pid=2')).stderr,
      /^lccctl: provider 2 is no longer paused\n$/,
    );
  });

  it('says that nobody knows whether it is done when the Queue Manager ends before it has answered', async () => {
    const home = join(lcc.dir, 'other');
    mkdirSync(join(home, 'run'), { recursive: true });
    const ending = createNetServer(socket => socket.once('data', () => socket.destroy()));
    await new Promise<void>(resolve => void ending.listen(join(home, 'run/lccd-qm.ctl.sock'), resolve));
    try {
      assert.deepEqual(await lcc.sh('lccctl pause --pid=2', { LCC_HOME: home }), {
        status: 75,
        stdout: '',
        stderr:
          'lccctl: lccd-qm has not answered (closed without an answer): not known whether "pause --pid=2" is done, and it may ' +
          'yet be; see lccstat, then say it again\n',
      });
    } finally {
      ending.close();
    }
  });

  it('names providers that it did not reach, for they are moved to another home, and ends with 75', async () => {
    const home = join(lcc.dir, 'moving');
    mkdirSync(join(home, 'run'), { recursive: true });
    const answer = { providers: 2, changed: 2, moving: [8, 9] };
    const qm = createNetServer(socket =>
      socket.once('data', () => socket.end(`${JSON.stringify({ ok: answer })}\n`)),
    );
    await new Promise<void>(resolve => void qm.listen(join(home, 'run/lccd-qm.ctl.sock'), resolve));
    try {
      assert.deepEqual(await lcc.sh('lccctl pause', { LCC_HOME: home }), {
        status: 75,
        stdout: '',
        stderr:
          'lccctl: all 2 providers are paused\nlccctl: not done for providers that move to another home: 8, 9; lccmap list says how far they have come, then: ' +
          'lccctl pause --pid=N, at the home that has it\n',
      });
    } finally {
      qm.close();
    }
  });

  it('says 69 when the Queue Manager is away, and changes nothing', async () => {
    await lcc.stop();
    const { status, stderr } = await lcc.sh('lccctl pause');
    assert.equal(status, 69);
    assert.match(
      stderr,
      /^lccctl: the Queue Manager is away, nothing is changed: .*: not running; start lccd/,
    );
    assert.match(await lcc.run('lccpidb show --pid=1 --json'), /"paused":0/);
  });

  it('says 76 when what answers is of another version', async () => {
    const path = join(lcc.home, 'run/lccd-qm.ctl.sock');
    const other = createNetServer(socket =>
      socket.once('data', () => socket.end('{"error":"unknown control \\"pause\\""}\n')),
    );
    await new Promise<void>(resolve => void other.listen(path, resolve));
    const { status, stderr } = await lcc.sh('lccctl pause');
    other.close();
    assert.deepEqual([status, stderr], [76, 'lccctl: unknown control "pause"\n']);
  });
});
