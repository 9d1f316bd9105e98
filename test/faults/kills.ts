/**
 * Random kill -9 of every daemon, the supervisor included, while sets arrive. At the end every url that was
 * acknowledged is stored as its file is now, once.
 */
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLcc, type TestLcc } from '../support/shell-lcc.js';
import { startSite } from '../support/nginx.js';

export interface KillFigures {
  kills: number;
  killed: Record<string, number>;
  acknowledged: number;
  stored: number;
  lost: string[];
  wrong: string[];
  twice: number;
  errorsReported: number;
}

/** @param seed makes the choice of victims and instants repeatable as far as scheduling allows */
export async function killRun(options: { kills: number; urls: number; seed: number }): Promise<KillFigures> {
  const random = randomFrom(options.seed);
  const scratch = mkdtempSync(join(tmpdir(), 'lcc-kill-'));
  const docroot = join(scratch, 'docs');
  for (let d = 0; d * 100 < options.urls; d++) mkdirSync(join(docroot, `d${d}`), { recursive: true });
  const write = (i: number, version: number) =>
    writeFileSync(
      join(docroot, `d${Math.floor(i / 100)}/p${i}.html`),
      `<p>url ${i} version ${version} ${'x'.repeat(i % 977)}</p>`,
    );
  for (let i = 0; i < options.urls; i++) write(i, 0);
  const site = await startSite(docroot, join(scratch, 'nginx'));
  const lcc = await startLcc(
    site.url,
    '[bm]\ngrace_ms = 1000\n[qm]\nretry_delay_ms = 200\nbackoff_min_ms = 100\nbackoff_max_ms = 1000\n',
  );
  const figures: KillFigures = {
    kills: 0,
    killed: {},
    acknowledged: 0,
    stored: 0,
    lost: [],
    wrong: [],
    twice: 0,
    errorsReported: 0,
  };
  try {
    const killer = killUntil(lcc, options.kills, random, figures);
    for (let version = 1; figures.kills < options.kills || version < 3; version++) {
      await deliver(lcc, scratch, site.url);
      for (let n = 0; n < options.urls / 20; n++) write(Math.floor(random() * options.urls), version);
    }
    await killer;
    await deliver(lcc, scratch, site.url);
    await lcc.idle(300);
    await judge(lcc, docroot, site.url, figures);
    return figures;
  } finally {
    await lcc.destroy();
    await site.stop();
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** Kills one living daemon after another at random instants; a killed supervisor is started again. */
async function killUntil(
  lcc: TestLcc,
  kills: number,
  random: () => number,
  figures: KillFigures,
): Promise<void> {
  while (figures.kills < kills) {
    await new Promise(resolve => void setTimeout(resolve, 50 + random() * 700));
    const sockets = readdirSync(join(lcc.home, 'run')).filter(name => name.endsWith('.ctl.sock'));
    const name = sockets[Math.floor(random() * sockets.length)];
    if (name === undefined) continue;
    const pid = await pidOf(join(lcc.home, 'run', name));
    if (pid === undefined) continue;
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      continue;
    }
    const victim = name.replace(/(-\d+)?\.ctl\.sock$/, '');
    figures.kills++;
    figures.killed[victim] = (figures.killed[victim] ?? 0) + 1;
    if (victim === 'lccd') await lcc.start();
  }
}

function pidOf(path: string): Promise<number | undefined> {
  return new Promise(resolve => {
    const socket = connect(path, () => void socket.write('status\n'));
    let text = '';
    socket.setTimeout(1000, () => void socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      if (text.includes('\n')) socket.destroy();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(Number(/"pid":(\d+)/.exec(text)?.[1] ?? NaN) || undefined));
  });
}

/** Runs the pipeline as cron does: again and again until it was accepted. */
async function deliver(lcc: TestLcc, scratch: string, urlprefix: string): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const result = await lcc.sh(
      `find docs -type f | file2url --md5 --docroot docs | lcccpstate --statefile=state.txt | lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${urlprefix}`,
      {},
      scratch,
    );
    if (result.status <= 1) return;
    await new Promise(resolve => void setTimeout(resolve, 50));
  }
  throw new Error(`never delivered\n${lcc.log().slice(-4000)}`);
}

async function judge(lcc: TestLcc, docroot: string, urlprefix: string, figures: KillFigures): Promise<void> {
  const rows = (await lcc.run('lccq --format=jsonl --no-deleted')).trim().split('\n');
  const held = new Map<string, { md5: string; file: string }>();
  for (const line of rows) {
    const row = JSON.parse(line) as { curl: string; md5: string; file: string };
    if (held.has(row.curl)) figures.twice++;
    held.set(row.curl, row);
  }
  for (const name of readdirSync(docroot, { recursive: true, withFileTypes: true })) {
    if (!name.isFile()) continue;
    const path = join(name.parentPath, name.name);
    const url = urlprefix + path.slice(docroot.length + 1);
    const row = held.get(url);
    figures.acknowledged++;
    if (row === undefined) {
      figures.lost.push(url);
      continue;
    }
    figures.stored++;
    const wanted = createHash('md5').update(readFileSync(path)).digest('hex');
    const stored = createHash('md5').update(readFileSync(row.file)).digest('hex');
    if (wanted !== stored || row.md5 !== wanted) figures.wrong.push(url);
  }
  const status = await lcc.sh(`lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${urlprefix} </dev/null`);
  figures.errorsReported = (status.stdout.match(/ code="/g) ?? []).length;
}

/** Repeatable numbers in [0, 1) from a seed. */
function randomFrom(seed: number): () => number {
  let drawn = 0;
  return () => createHash('md5').update(`${seed} ${drawn++}`).digest().readUInt32BE() / 2 ** 32;
}
