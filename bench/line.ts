/**
 * The whole line: notification → spool → queue → fetch → row in lccurl, durable at every step, against programs that
 * only fetch the same list. One LCC, warm, its own home for each round; what is timed begins with the first byte a CP
 * sends and ends when the last row is committed.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binDir } from '../test/support/shell-lcc.js';
import { startSite, type Site } from '../test/support/nginx.js';
import {
  compare,
  peakRssBytes,
  requireProgram,
  shell,
  type Contender,
  type Outcome,
  type Sample,
} from './harness.js';

const FILES = 20_000;
const BYTES = 4096;
const PROVIDERS = 16;

export async function bench(): Promise<Outcome[]> {
  requireProgram('nginx', 'nginx-light');
  requireProgram('curl', 'curl');
  requireProgram('wget2', 'wget2');
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-bench-line-'));
  const docroot = join(scratch, 'docs');
  const names = makeFiles(docroot);
  const site = await startSite(docroot, join(scratch, 'nginx'));
  try {
    return [await endToEnd(scratch, site, names), await oneProvider(scratch, site, names)];
  } finally {
    await site.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

function makeFiles(docroot: string): string[] {
  const names: string[] = [];
  for (let p = 0; p < PROVIDERS; p++) mkdirSync(join(docroot, `p${p}`), { recursive: true });
  for (let i = 0; i < FILES; i++) {
    const name = `p${i % PROVIDERS}/${String(i).padStart(5, '0')}.html`;
    const text = `<html><title>${i}</title>${`word${i} `.repeat(BYTES)}`.slice(0, BYTES);
    writeFileSync(join(docroot, name), text);
    names.push(name);
  }
  return names;
}

async function endToEnd(scratch: string, site: Site, names: string[]): Promise<Outcome> {
  const urls = names.map(name => site.url + name);
  const list = join(scratch, 'curl.cfg');
  const urlFile = join(scratch, 'urls.txt');
  writeFileSync(list, urls.map((url, i) => `url = "${url}"\noutput = "c/${i}.html"\n`).join(''));
  writeFileSync(urlFile, urls.join('\n'));
  const sets = Array.from({ length: PROVIDERS }, (_, p) => names.filter(name => name.startsWith(`p${p}/`)));
  return compare({
    work: `End to end: ${FILES} notifications of ${BYTES} bytes, ${PROVIDERS} providers, durable`,
    amount: FILES,
    unit: 'urls',
    rounds: 3,
    ours: lccContender('lcc', scratch, site, sets),
    peers: [
      {
        contender: emptied(
          shell('curl -Z', `curl -sS -Z --parallel-max 64 --create-dirs -K ${list}`, { cwd: scratch }),
          scratch,
          'c',
        ),
        atLeast: 0.5,
      },
      {
        contender: emptied(
          shell('wget2', `wget2 -q --max-threads=16 -P w -x -i ${urlFile}`, { cwd: scratch }),
          scratch,
          'w',
        ),
        atLeast: 0.8,
      },
      ...scrapy(scratch, urlFile),
    ],
  });
}

async function oneProvider(scratch: string, site: Site, names: string[]): Promise<Outcome> {
  const few = names.slice(0, 5000);
  const list = join(scratch, 'serial.cfg');
  writeFileSync(list, few.map((name, i) => `url = "${site.url}${name}"\noutput = "s/${i}.html"\n`).join(''));
  return compare({
    work: 'One provider alone: one fetch at a time',
    amount: few.length,
    unit: 'urls',
    rounds: 3,
    ours: lccContender('lcc, one provider', scratch, site, [few]),
    peers: [
      {
        contender: emptied(
          shell('curl, serial', `curl -sS --create-dirs -K ${list}`, { cwd: scratch }),
          scratch,
          's',
        ),
        atLeast: 1.5,
      },
    ],
  });
}

function emptied(contender: Contender, scratch: string, dir: string): Contender {
  let round = 0;
  // Renamed away, not deleted: deleting a tree just before making it again slows the making on ext4.
  return {
    ...contender,
    prepare: () => void spawnSync('mv', [join(scratch, dir), join(scratch, `${dir}.${round++}`)]),
  };
}

function scrapy(scratch: string, urlFile: string): { contender: Contender; atLeast: number }[] {
  requireProgram('scrapy', 'python3-scrapy');
  const spider = join(scratch, 'spider.py');
  writeFileSync(
    spider,
    `import scrapy, hashlib
class S(scrapy.Spider):
    name = 's'
    custom_settings = {'CONCURRENT_REQUESTS': 64, 'CONCURRENT_REQUESTS_PER_DOMAIN': 64, 'LOG_LEVEL': 'ERROR', 'TELNETCONSOLE_ENABLED': False}
    start_urls = open(${JSON.stringify(urlFile)}).read().split()
    def parse(self, r):
        open('y/%s' % hashlib.md5(r.body).hexdigest(), 'wb').write(r.body)
`,
  );
  const run = shell('scrapy', `mkdir -p y && scrapy runspider ${spider}`, { cwd: scratch });
  return [{ contender: emptied(run, scratch, 'y'), atLeast: 12 }];
}

/** An LCC that is running before the clock starts; `sets[p]` are the names provider p+1 announces. */
function lccContender(name: string, scratch: string, site: Site, sets: string[][]): Contender {
  let home = '';
  let lccd: ChildProcess | undefined;
  let passwords: string[] = [];
  let round = 0;
  return {
    name,
    async prepare() {
      home = join(scratch, `home-${name.length}-${round++}`);
      mkdirSync(home);
      writeFileSync(join(home, 'lcc.toml'), '[bot]\nallow_addresses = ["127.0.0.0/8"]\n');
      const env = { ...process.env, LCC_HOME: home };
      passwords = sets.map((_, p) =>
        spawnSync(join(binDir, 'lccpidb'), ['add', `--pid=${p + 1}`, `--root=${site.url}`], { env })
          .stdout.toString()
          .trim(),
      );
      lccd = spawn(join(binDir, 'lccd'), [`--listen=unix:${home}/u.sock`], {
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      await new Promise<void>(resolve => {
        let seen = '';
        lccd?.stderr?.on('data', (text: Buffer) => {
          seen = (seen + text.toString()).slice(-5000);
          if (/"daemon":"lccd","event":"ready"/.test(seen)) resolve();
        });
      });
    },
    async run() {
      const start = performance.now();
      await Promise.all(
        sets.map((set, p) => notify(`${home}/u.sock`, p + 1, passwords[p] ?? '', site.url, set)),
      );
      await untilDone(home);
      const seconds = (performance.now() - start) / 1000;
      const rssBytesOf = await rssOf(home);
      const sample: Sample = { seconds, maxRssBytes: Math.max(...Object.values(rssBytesOf)), rssBytesOf };
      const held = spawnSync(join(binDir, 'lccq'), ['--count'], { env: { ...process.env, LCC_HOME: home } });
      const wanted = sets.reduce((sum, set) => sum + set.length, 0);
      if (Number(held.stdout.toString()) !== wanted)
        throw new Error(`${held.stdout.toString().trim()} of ${wanted} held`);
      lccd?.kill('SIGTERM');
      await new Promise(resolve => void lccd?.once('exit', resolve));
      return sample;
    },
  };
}

/** Sends one set as a CP does, in one go; resolves when it was accepted. */
function notify(
  socketPath: string,
  pid: number,
  password: string,
  urlprefix: string,
  names: string[],
): Promise<void> {
  const urls = names.map(
    name => `<url curl="${name}" mimetype="text/html" len="${BYTES}" mtime="2026-11-20T10:13:01Z"/>\n`,
  );
  const message =
    `<lococa:init xmlns:lococa="http://www.lococa.org/1.0"><provider id="${pid}" passwd="${password}"/></lococa:init>\n` +
    `<lococa:set set="partial" urlprefix="${urlprefix}">\n${urls.join('')}</lococa:set>\n`;
  return new Promise((resolve, reject) => {
    const socket = connect(socketPath, () => void socket.write(message));
    let answer = '';
    socket.on('data', (text: Buffer) => void (answer += text.toString()));
    socket.on('error', reject);
    socket.on('close', () =>
      answer.includes(`received="${names.length}"`) ? resolve() : reject(new Error(answer)),
    );
  });
}

interface Status {
  pid: number;
  idle: boolean;
}

async function untilDone(home: string): Promise<void> {
  for (let quiet = 0; quiet < 2;) {
    const [uns, qm] = [await status(home, 'lccd-uns'), await status(home, 'lccd-qm')];
    quiet = uns.idle && qm.idle ? quiet + 1 : 0;
    if (quiet < 2) await new Promise(resolve => void setTimeout(resolve, 10));
  }
}

function status(home: string, daemon: string): Promise<Status> {
  return new Promise((resolve, reject) => {
    const socket = connect(`${home}/run/${daemon}.ctl.sock`, () => void socket.write('status\n'));
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (!text.endsWith('\n')) return;
      socket.destroy();
      resolve((JSON.parse(text) as { ok: Status }).ok);
    });
    socket.on('error', reject);
  });
}

async function rssOf(home: string): Promise<Record<string, number>> {
  const names = ['lccd-uns', 'lccd-qm', 'lccd-bm', 'lccbot', 'lccd'];
  const entries = names.map(async name => [name, peakRssBytes((await status(home, name)).pid)] as const);
  return Object.fromEntries(await Promise.all(entries));
}
