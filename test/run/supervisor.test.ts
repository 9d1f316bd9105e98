import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemClock } from '../../src/lib/clock.js';
import type { LccError } from '../../src/lib/errors.js';
import { createLog, silentLog } from '../../src/lib/log.js';
import { askStatus } from '../../src/daemon/ask.js';
import type { ChildSpec } from '../../src/run/child.js';
import { Supervisor, type SupervisorOptions } from '../../src/run/supervisor.js';
import { until } from '../support/until.js';

/** A shell that lives, and hears signals soon. */
const LASTS = 'while :; do sleep 0.05; done';

const echoDaemon = fileURLToPath(new URL('../fixtures/echo-daemon.js', import.meta.url));
const supervise = fileURLToPath(new URL('../fixtures/supervise.js', import.meta.url));
let home: string;
let started: Supervisor[];

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'lcc-run-'));
  started = [];
});
afterEach(async () => {
  await Promise.all(started.map(supervisor => supervisor.stop()));
  rmSync(home, { recursive: true, force: true });
});

const control = (name: string) => join(home, 'run', `${name}.ctl.sock`);
const pidOf = async (name: string) => (await askStatus(control(name)).catch(() => undefined))?.pid;

/** A real daemon on the skeleton. */
function echo(instance: string): ChildSpec {
  return {
    name: `echo-${instance}`,
    file: process.execPath,
    args: [echoDaemon, `unix:${home}/${instance}.sock`],
    env: { ...process.env, LCC_HOME: home, LCC_INSTANCE: instance },
  };
}

/** A shell script; `$READY` names the file that says it is ready. */
function script(name: string, text: string): ChildSpec {
  return {
    name,
    file: 'sh',
    args: ['-c', text],
    env: { ...process.env, HOME_DIR: home, READY: join(home, name) },
  };
}

function supervisorOf(children: ChildSpec[], options: Partial<SupervisorOptions> = {}): Supervisor {
  const supervisor = new Supervisor({
    children,
    stopOrder: [],
    clock: systemClock,
    log: silentLog,
    restartMinMs: 10,
    restartMaxMs: 200,
    startTimeoutMs: 60_000,
    stopTimeoutMs: 60_000,
    failed: error => assert.fail(error.message),
    answers: async name => (await pidOf(name)) !== undefined,
    isReady: async (name, pid) => (await pidOf(name)) === pid || existsSync(join(home, name)),
    ...options,
  });
  started.push(supervisor);
  return supervisor;
}

/** A log of warnings, and the lines written to it. */
function warnings() {
  const lines: { event: string; child: string; delay_ms: number }[] = [];
  const write = (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]);
  return { lines, log: createLog({ name: 'test', level: 'warn', human: false, write }) };
}

function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

describe('a supervisor', () => {
  it('has started when every child answers', async () => {
    const supervisor = supervisorOf([echo('a'), echo('b')]);
    assert.equal(supervisor.status().idle, false);
    await supervisor.start();
    assert.equal(supervisor.status().idle, true);
    assert.deepEqual(
      await Promise.all(supervisor.status().children.map(child => pidOf(child.name))),
      supervisor.status().children.map(child => child.pid),
    );
  });

  it('runs those of the owner of a kept home only while this machine owns it, and kills them at once when not', async () => {
    const ofOwner: ChildSpec = {
      ...script('work', `trap "" TERM; echo $$ >>$HOME_DIR/pids; touch $READY; ${LASTS}`),
      isOfOwner: true,
    };
    const supervisor = supervisorOf([echo('keep'), ofOwner], { stopTimeoutMs: 100 });
    await supervisor.start();
    const names = () => supervisor.status().children.map(({ name, state }) => `${name} ${state}`);
    assert.deepEqual(names(), ['echo-keep ready']);
    assert.equal(supervisor.status().idle, true);
    await supervisor.serve(true);
    await until('it is ready', () => names()[1] === 'work ready');
    const [first = 0] = readFileSync(join(home, 'pids'), 'utf8').trim().split('\n').map(Number);
    // It is killed, for it hears no SIGTERM; and what comes meanwhile counts.
    await Promise.all([supervisor.serve(false), supervisor.serve(true)]);
    assert.equal(runs(first), false);
    await until('another one is ready', () => names()[1] === 'work ready');
    assert.equal(readFileSync(join(home, 'pids'), 'utf8').trim().split('\n').length, 2);
    await supervisor.serve(false);
    assert.deepEqual(names(), ['echo-keep ready']);
  });

  it('stops those of the owner in their order when the home is handed over, and leaves the others alone', async () => {
    const late = (name: string): ChildSpec => ({
      ...script(name, `trap "echo ${name} >>$HOME_DIR/ended; exit" TERM; touch $READY; ${LASTS}`),
      isOfOwner: true,
    });
    const supervisor = supervisorOf([echo('keep'), late('queue'), late('intake')], {
      stopOrder: ['intake', 'queue', 'echo-keep'],
    });
    await supervisor.start();
    await supervisor.serve(true);
    await until('all are ready', () => supervisor.status().idle && supervisor.status().children.length === 3);
    const keeper = await pidOf('echo-keep');
    await supervisor.retire();
    assert.equal(readFileSync(join(home, 'ended'), 'utf8'), 'intake\nqueue\n');
    assert.equal(await pidOf('echo-keep'), keeper);
  });

  it('starts none of those of the owner when it is reloaded before, or while the home is handed over', async () => {
    const cu: ChildSpec = {
      ...script('cu', `touch $READY; ${LASTS}`),
      isOfOwner: true,
      isBeside: true,
    };
    const supervisor = supervisorOf([echo('keep'), cu]);
    const own = () => supervisor.status().children[1];
    await supervisor.start();
    supervisor.reload();
    await supervisor.serve(true);
    await until('it is ready', () => own()?.state === 'ready');
    assert.equal(own()?.restarts, 0);
    await supervisor.retire();
    supervisor.reload();
    assert.equal(own()?.state, 'stopped');
  });

  it('starts a killed child again, and is not idle until it answers', async () => {
    const supervisor = supervisorOf([echo('a')]);
    await supervisor.start();
    const before = supervisor.status().children[0]?.pid ?? 0;
    process.kill(before, 'SIGKILL');
    await until('it is busy', () => !supervisor.status().idle);
    await until('it is idle', () => supervisor.status().idle);
    assert.notEqual(await pidOf('echo-a'), before);
    assert.equal(supervisor.status().children[0]?.pid, await pidOf('echo-a'));
  });

  it('passes SIGHUP on to children that are ready, and to one that is starting when it is ready: it would die of it', async () => {
    const supervisor = supervisorOf([
      script('one', `trap "echo one >>$HOME_DIR/heard" HUP; touch $READY; ${LASTS}`),
      script(
        'two',
        `touch $HOME_DIR/up; while [ ! -e $HOME_DIR/go ]; do sleep 0.05; done; trap "echo two >>$HOME_DIR/later" HUP; touch $READY; ${LASTS}`,
      ),
    ]);
    const up = supervisor.start();
    await until(
      'the first is ready and the second is up',
      () => existsSync(join(home, 'up')) && supervisor.status().children[0]?.state === 'ready',
    );
    supervisor.reload();
    await until('SIGHUP is heard', () => existsSync(join(home, 'heard')));
    writeFileSync(join(home, 'go'), '');
    await up;
    await until('SIGHUP is heard later', () => existsSync(join(home, 'later')));
    assert.deepEqual(
      supervisor.status().children.map(child => child.restarts),
      [0, 0],
    );
  });

  it('waits twice as long before each further start, within bounds', async () => {
    const { lines, log } = warnings();
    const supervisor = supervisorOf([script('dying', 'touch $READY; exit 1')], {
      log,
      restartMaxMs: 45,
      // A child that has lived longer than the longest wait begins again with the shortest: here no child does, however slow.
      clock: { ...systemClock, monotonicMs: () => 0 },
    });
    await supervisor.start();
    await until('5 lines are logged', () => lines.length >= 5);
    assert.deepEqual(
      lines.slice(0, 5).map(line => line.delay_ms),
      [10, 20, 40, 45, 45],
    );
  });

  it('stops its children in the order given, each after the one before has gone', async () => {
    const slow = (name: string) =>
      script(name, `trap 'sleep 0.2; echo ${name} >>$HOME_DIR/order; exit 0' TERM; touch $READY; ${LASTS}`);
    const supervisor = supervisorOf([slow('qm'), slow('bot-1'), slow('bot-2'), slow('uns')], {
      stopOrder: ['uns', 'qm', 'bot'],
    });
    await supervisor.start();
    await supervisor.stop();
    const order = readFileSync(join(home, 'order'), 'utf8').trim().split('\n');
    assert.deepEqual(
      [order.slice(0, 2), order.slice(2).sort()],
      [
        ['uns', 'qm'],
        ['bot-1', 'bot-2'],
      ],
    );
  });

  it('kills a child that does not stop in time', async () => {
    const supervisor = supervisorOf([script('deaf', `trap '' TERM; touch $READY; ${LASTS}`)], {
      stopTimeoutMs: 200,
    });
    await supervisor.start();
    const pid = supervisor.status().children[0]?.pid ?? 0;
    await supervisor.stop();
    assert.equal(runs(pid), false);
  });

  it('gives up at once on a child that is configured wrongly, and stops the others', async () => {
    const { lines, log } = warnings();
    const supervisor = supervisorOf([echo('a'), script('wrong', 'exit 78')], { log });
    await assert.rejects(supervisor.start(), { code: 'config', message: /wrong exited with 78/ });
    assert.deepEqual(
      lines.map(({ event, child }) => [event, child]),
      [['child died, not restarted: a restart would not help', 'wrong']],
    );
    await until('echo-a is gone', async () => (await pidOf('echo-a')) === undefined);
  });

  it('gives up on a child that was ready and is found configured wrongly later, and stops the others', async () => {
    const failures: LccError[] = [];
    const { lines, log } = warnings();
    const supervisor = supervisorOf(
      [
        echo('a'),
        script('late', 'touch $READY; while [ ! -e $HOME_DIR/wrong ]; do sleep 0.02; done; exit 78'),
      ],
      { log, failed: error => void failures.push(error) },
    );
    await supervisor.start();
    writeFileSync(join(home, 'wrong'), '');
    await until('a failure is reported', () => failures.length > 0);
    assert.deepEqual(
      failures.map(({ code, message }) => [code, message]),
      [['config', 'late exited with 78; its message is above']],
    );
    assert.deepEqual(
      lines.map(({ event }) => event),
      ['child died, not restarted: a restart would not help'],
    );
    assert.equal(await pidOf('echo-a'), undefined);
    assert.ok(supervisor.status().children.every(({ state }) => state === 'stopped'));
  });

  it('leaves what the others can do without down, from the start or later, and starts it when it is reloaded', async () => {
    const { lines, log } = warnings();
    const beside = (name: string, text: string): ChildSpec => ({ ...script(name, text), isBeside: true });
    const supervisor = supervisorOf(
      [
        echo('a'),
        beside('wrong', '[ -e $HOME_DIR/mended ] || exit 78; touch $READY; exec tail -f /dev/null'),
        beside('late', 'touch $READY; while [ ! -e $HOME_DIR/broken ]; do sleep 0.02; done; exit 78'),
      ],
      { log },
    );
    await supervisor.start();
    const stateOf = (name: string) =>
      supervisor.status().children.find(child => child.name === name)?.state ?? '';
    await until('late is ready', () => stateOf('late') === 'ready');
    assert.equal(stateOf('wrong'), 'stopped');
    writeFileSync(join(home, 'broken'), '');
    await until('late stays down', () => stateOf('late') === 'stopped');
    assert.ok((await pidOf('echo-a')) !== undefined, 'the others run on');
    assert.equal(supervisor.status().idle, true, 'nobody waits for what stays down');
    assert.deepEqual(
      lines.map(({ event, child }) => [event, child]),
      ['wrong', 'late'].map(child => ['child stays down: mend what it says, then reload lccd', child]),
    );
    writeFileSync(join(home, 'mended'), '');
    supervisor.reload();
    await until('what was mended is ready', () => stateOf('wrong') === 'ready');
  });

  it('gives up on a child that does not become ready in time', async () => {
    const supervisor = supervisorOf([script('mute', 'exec tail -f /dev/null')], { startTimeoutMs: 300 });
    await assert.rejects(supervisor.start(), {
      code: 'peer.unavailable',
      message: /mute was not ready within 0\.3 s/,
    });
  });

  it('stops all, and has started in vain, when it is told to stop before a child is ready', async () => {
    const { lines, log } = warnings();
    const children = [echo('a'), script('mute', 'exec tail -f /dev/null'), script('dying', 'exit 1')];
    const supervisor = supervisorOf(children, { log });
    const starting = supervisor.start();
    await until('the child is ready', () => supervisor.status().children[0]?.state === 'ready');
    await until('a death is logged', () => lines.some(line => line.child === 'dying'));
    const pids = supervisor.status().children.flatMap(({ pid }) => pid ?? []);
    await Promise.all([supervisor.stop(), supervisor.stop(), starting]);
    assert.deepEqual(pids.filter(runs), []);
    assert.ok(supervisor.status().children.every(({ state }) => state === 'stopped'));
    await supervisor.start();
    assert.ok(
      supervisor.status().children.every(({ state }) => state === 'stopped'),
      'what was stopped stays so',
    );
  });

  it('waits for the orphans of a killed one to let go of their sockets', async () => {
    writeFileSync(join(home, 'log'), '');
    const old = spawn(process.execPath, [supervise, home], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(old.stdout, 'data');
    const orphans = await Promise.all([pidOf('echo-a'), pidOf('echo-b')]);
    old.kill('SIGKILL');
    await once(old, 'exit');
    const supervisor = supervisorOf([echo('a'), echo('b')]);
    await supervisor.start();
    const successors = await Promise.all([pidOf('echo-a'), pidOf('echo-b')]);
    for (const pid of orphans) {
      assert.ok(pid !== undefined && !successors.includes(pid));
      await until('its child is gone', () => !runs(pid));
    }
    appendFileSync(join(home, 'log'), 'end');
  });

  it('starts a child again whose orphan ended between its try and the question whether it answers', async () => {
    const held = join(home, 'held');
    writeFileSync(held, '');
    const tries = join(home, 'tries');
    const supervisor = supervisorOf(
      [script('late', `echo >>${tries}; test ! -e ${held} || exit 75; touch $READY; exec sleep 100`)],
      {
        answers: () => {
          const isThere = readFileSync(tries, 'utf8').length < 2;
          if (!isThere) rmSync(held, { force: true });
          return Promise.resolve(isThere);
        },
      },
    );
    await supervisor.start();
    const [late] = supervisor.status().children;
    // More often where it was not looked at between two tries.
    assert.ok(late?.state === 'ready' && late.restarts >= 2, JSON.stringify(late));
  });

  it('gives up on a child that was shut out after nobody had answered, too', async () => {
    const supervisor = supervisorOf([script('late', 'exit 75')], { answers: () => Promise.resolve(false) });
    await assert.rejects(supervisor.start(), { code: 'try.later', message: /late exited with 75/ });
    assert.ok((supervisor.status().children[0]?.restarts ?? 0) >= 1, 'not before its second try');
  });

  it('takes its children with it when it is killed -9', async () => {
    const child = spawn(process.execPath, [supervise, home], { stdio: ['ignore', 'pipe', 'ignore'] });
    await once(child.stdout, 'data');
    const pids = await Promise.all([pidOf('echo-a'), pidOf('echo-b')]);
    child.kill('SIGKILL');
    for (const pid of pids) {
      assert.ok(pid !== undefined);
      await until('its child is gone', () => !runs(pid));
    }
  });

  it('is up when what is late is held up, and starts it when that is over, though others are ready long since', async () => {
    let reason: string | undefined = 'no room';
    const supervisor = supervisorOf(
      [echo('a'), script('late', 'test -e "$HOME_DIR/room" || exit 74; touch "$READY"; exec sleep 100')],
      { notNow: status => (status === 74 ? reason : undefined) },
    );
    await supervisor.start();
    const late = () => supervisor.status().children.find(({ name }) => name === 'late');
    assert.deepEqual([late()?.state, late()?.held_up, late()?.restarts], ['waiting', 'no room', 0]);
    writeFileSync(join(home, 'room'), '');
    reason = undefined;
    await until('the late one is ready', () => late()?.state === 'ready');
    assert.deepEqual([late()?.held_up, late()?.restarts], [null, 1]);
  });
});
