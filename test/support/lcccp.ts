/** The real lcccp against the real lccd-uns, with providers of all kinds, sites with a state, and what the UNS hands on. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createServer, type AddressInfo, type Server } from 'node:net';
import { afterEach, before } from 'node:test';
import { runBin, runCommandLater, type Done } from './command.js';
import { Home, Receiver, SITE } from './uns.js';
import type { Daemon } from './daemon.js';
import { atEnd } from './at-end.js';
import { until } from './until.js';

export const home = new Home();
/** Providers of one test each, with sets that are looked at as a whole. */
export const DOUBTFUL = Array.from({ length: 40 }, (_, n) => 20 + n);
export const passwords: Record<number, string> = {};
export let daemon: Daemon;
export let receiver: Receiver;

before(async () => {
  passwords[1] = home.addProvider(1);
  passwords[2] = home.addProvider(2, { filesmax: 2, spacemax: 100 });
  passwords[3] = home.addProvider(3, {}, "UPDATE pidb SET fullsetwanted = 'old files' WHERE pid = 3");
  passwords[4] = home.addProvider(4, { fullsetsallowed: 0 });
  passwords[5] = home.addProvider(
    5,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES (5, 404, 'Not <Found>', ' curl="a&amp;b" mimetype="text/html" len="5"');
     UPDATE pidb SET nurlerrs = 1 WHERE pid = 5`,
  );
  passwords[6] = home.addProvider(6);
  for (const pid of DOUBTFUL) passwords[pid] = home.addProvider(pid);
  // Of three errors one is kept.
  passwords[8] = home.addProvider(
    8,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES (8, 404, 'Not Found', ' curl="kept" mimetype="text/html"');
     UPDATE pidb SET nurlerrs = 3 WHERE pid = 8`,
  );
  passwords[9] = home.addProvider(
    9,
    {},
    `INSERT INTO pierr(pid, code, text, attrs) VALUES (9, 404, 'Not Found', ' curl="lost" mimetype="text/html"');
     UPDATE pidb SET nurlerrs = 1 WHERE pid = 9`,
  );
  // The Queue Manager, which would note it, is not there.
  home.sql('UPDATE pidb SET lastset = 1');
  passwords[7] = home.addProvider(7);
  receiver = await new Receiver().listen(home.qmPath);
  daemon = await home.start();
});
atEnd(async () => {
  await daemon.stop();
  await receiver.close();
  await home.remove();
});
afterEach(forget);

/** Forgets the sets that came, after all that the UNS has accepted came: none of them is taken for a later one. */
export async function forget(): Promise<void> {
  await until('the Queue Manager gets what was accepted', () => home.spooled().length === 0);
  receiver.sets.length = 0;
}

/** The real lcccp against the real lccd-uns. */
export async function lcccp(
  pid: number,
  input: string | Buffer,
  args: string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<Done> {
  return run(
    'lcccp',
    [`--uns=127.0.0.1:${daemon.port}`, `--pid=${pid}`, `--urlprefix=${SITE}`, ...args],
    input,
    {
      LCC_PWD: passwords[pid],
      ...env,
    },
  );
}

/** Any command, on the home of these tests. */
export function run(
  name: string,
  args: string[],
  input: string | Buffer,
  env: NodeJS.ProcessEnv,
): Promise<Done> {
  return runCommandLater(home.dir, name, args, { input, env });
}

/** What stands between lcccp and the UNS and says when a set has been accepted, which it does not pass on by itself. */
export class Cutter {
  readonly #server: Server;
  /** Resolves when the UNS has accepted a set that was not passed on. */
  readonly accepted: Promise<void>;
  #cut: () => void = () => undefined;
  #passOn: () => void = () => undefined;

  /** @param afterBytes hangs up on both when that many came from lcccp, before the UNS gets the last of them */
  private constructor(afterBytes: number) {
    let accepted: () => void = () => undefined;
    this.accepted = new Promise(resolve => (accepted = resolve));
    this.#server = createServer(cp => {
      const uns = connect(daemon.port, '127.0.0.1');
      this.#cut = () => cp.destroy();
      let said = 0;
      cp.on('error', () => undefined).on('data', data => {
        said += data.length;
        if (said < afterBytes) return void uns.write(data);
        cp.destroy();
        uns.destroy();
      });
      cp.on('end', () => uns.end());
      uns
        .on('error', () => cp.destroy())
        .on('data', data => {
          const at = data.indexOf('<set_accepted');
          cp.write(at < 0 ? data : data.subarray(0, at));
          if (at < 0) return;
          this.#passOn = () => void cp.write(data.subarray(at));
          accepted();
        });
    });
  }

  static async listen(afterBytes = Infinity): Promise<Cutter> {
    const cutter = new Cutter(afterBytes);
    cutter.#server.listen(0, '127.0.0.1');
    await once(cutter.#server, 'listening');
    return cutter;
  }

  get uns(): string {
    return `--uns=127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What lcccp has not heard so far. */
  passOn(): void {
    this.#passOn();
  }

  cut(): void {
    this.#cut();
    this.#server.close();
  }
}

let sites = 0;
/** A site with a state, told by the real filters. */
export function makeSite(...lines: string[]) {
  const dir = join(home.dir, `site-${sites++}`);
  mkdirSync(dir);
  const state = join(dir, 'state.txt');
  const told = (urls: readonly string[], args: string[] = []) => {
    const input = `<?lcc from="test"?>\n${urls.map(u => `${u}\n`).join('')}<?lcc end?>\n`;
    const done = runBin('lcccpstate', ['-q', `--statefile=${state}`, ...args], { input });
    assert.equal(done.status, 0, done.stderr);
    return done.stdout.toString();
  };
  return { state, dir, told, first: told(lines), files: () => filesBeside(dir) };
}
/** Names of a statefile's directory, with ID for what files and processes are known by, without the notes of the last connection. */
export function filesBeside(dir: string): string[] {
  return readdirSync(dir)
    .filter(name => !/\.(uns|urlprefix)$/.test(name))
    .map(name => name.replace(/\d+-\d+/g, 'ID'))
    .sort();
}
/** What lcccpstate leaves of a set that nobody has delivered. */
export const MADE = ['state.txt.made.ID', 'state.txt.pending.ID'];
/** The same once lcccp knows that it was not accepted. */
export const UNSENT = ['state.txt.pending.ID', 'state.txt.unsent.ID'];
/** The same when nobody knows whether it was. */
export const SENT = ['state.txt.pending.ID', 'state.txt.sent.ID.ID'];

export const url = (curl: string, len = 5) => `<url curl="${curl}" mimetype="text/html" len="${len}"/>`;

/** The next set the Queue Manager gets, of the provider if one is given. */
export async function arrives(pid?: number) {
  const next = () => receiver.sets.find(({ head }) => pid === undefined || head.pid === pid);
  await receiver.until(() => next() !== undefined);
  const { head, curls } = next()!;
  return { set: head.set, urlprefix: head.urlprefix, curls };
}
