// npm run demo [-- DIR]: a private LCC, a small web server over a copy of DIR (default: this project's documentation),
// and the real pipeline, each command line printed as it is run. Everything lives in a temporary directory.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { delimiter, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { copyDocumentation, copyTree, countFiles } from './site.mjs';
import { listen, serve } from './web.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const startedAt = Date.now();
const dir = mkdtempSync(join(tmpdir(), 'lcc-demo-'));
const site = join(dir, 'site');
const env = {
  ...process.env,
  LCC_HOME: join(dir, 'lcc'),
  PATH: `${join(root, 'bin')}${delimiter}${process.env.PATH}`,
};
delete env.LCC_CONFIG;
const running = new Set();
let lccd;
let web;
let cleaning;

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.on(signal, () => void cleanUp().then(() => process.exit(128 + constants.signals[signal])));
// The reader of the output is gone: a closed terminal, a pipe into head.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', () => void cleanUp().then(() => process.exit(1)));
try {
  await demo(process.argv[2]);
} catch (error) {
  if (cleaning === undefined) complain(error);
  process.exitCode = 1;
} finally {
  await cleanUp();
}

/** The commands have said themselves what was wrong; the LCC's log is of interest only when the LCC has ended. */
function complain(error) {
  console.error(`demo: ${error.message}`);
  const hasDied = lccd !== undefined && !isAlive(lccd);
  if (hasDied) console.error(readFileSync(join(dir, 'lccd.log'), 'utf8').split('\n').slice(-20).join('\n'));
}

async function demo(given) {
  if (!existsSync(join(root, 'dist/bin/lccd.cjs'))) {
    say('Building the commands (npm run build) ...');
    await sh('npm run --silent build', { cwd: root, quiet: true });
  }
  prepareSite(given);
  web = await serve(site, 8080);
  const base = `http://127.0.0.1:${web.port}/`;
  const uns = `127.0.0.1:${await freePort(9000)}`;
  const sqlite =
    (await sh('command -v sqlite3', { quiet: true, accept: [0, 1, 127] })).status === 0
      ? 'sqlite3'
      : standIn();
  const search = async words => {
    const { output } = await sh(
      `${sqlite} index.db "SELECT burl FROM pages WHERE pages MATCH '${words}' ORDER BY rank"`,
    );
    if (output === '') say('(nothing)');
  };
  const pipeline =
    `file2url --docroot=site --find site -type f | lcccpstate --statefile=state.txt |\n` +
    `    lcccp --uns=${uns} --pid=1 --pwdfile=password --urlprefix=${base}`;
  // Status 1: delivered, but some urls are in error; lcccp prints them.
  const deliver = async () => {
    const { output } = await sh(pipeline, { accept: [0, 1] });
    const failed = [...output.matchAll(/<url curl="([^"]*)".* code="(\d+)"/g)].map(m => `${m[1]} (${m[2]})`);
    if (failed.length > 0) say(`Not in the LCC, see lcc-codes(7): ${some(failed)}. The demo goes on.`);
  };
  const index = `lccq --cursor=index.cursor --format=fts5-sql -- ${sqlite} -bail index.db`;

  title(`A site of ${countFiles(site)} files, and a private LCC`);
  say(`A small web server serves the site on ${base}; all files of this demo are below ${dir}.`);
  say('The LCC learns who may announce changes, and which URLs; the provider gets its password.');
  show(`lccd --listen=${uns} --allow-address=127.0.0.0/8 2>lccd.log &`);
  lccd = spawn(join(root, 'bin/lccd'), [`--listen=${uns}`, '--allow-address=127.0.0.0/8'], {
    cwd: dir,
    env,
    stdio: ['ignore', 'ignore', openSync(join(dir, 'lccd.log'), 'w')],
    detached: true,
  });
  await sh('lccstat --until-idle=30');
  await sh(`(umask 077; lccpidb add --pid=1 --root=${base} >password)`);

  title('First run: the whole site');
  await deliver();
  await sh('lccstat --until-idle=600');
  await sh('lccq --count');
  await sh('lccq --limit=1');
  say(`The web server was asked for ${web.served.length} files. ${await compareStored()}`);
  say('From the LCC into a full-text index (SQLite FTS5), remembering how far it came:');
  await sh(index);
  const [kept, doomed] = await twoPages(sqlite);
  await search(kept.word);
  await search(doomed.word);

  title('Second run: nothing has changed');
  web.served.length = 0;
  await deliver();
  await sh('lccstat --until-idle=60');
  say(`The web server was asked for ${web.served.length} files.`);

  title('Third run: one file changed, one added, one deleted');
  await sh(`echo '<p>A quokka was here.</p>' >>${quoted(kept.path)}`);
  await sh(`echo '<title>New</title><p>An axolotl arrived.</p>' >site/new.html`);
  await sh(`rm ${quoted(doomed.path)}`);
  await deliver();
  await sh('lccstat --until-idle=60');
  say(`The web server was asked for: ${web.served.join(' ')}`);
  say('What content users see of it: the changes since the index was fed, and no others.');
  await sh(`cp index.cursor my.cursor`, { quiet: true });
  await sh('lccq --cursor=my.cursor --format=tsv --fields=op,burl -- cat');
  await sh(index);
  await search('quokka');
  await search('axolotl');
  await search(doomed.word);

  title('Done');
  say(`${await compareStored()} The site has ${countFiles(site)}, and the index knows their text.`);
  say(
    `All of it took ${Math.round((Date.now() - startedAt) / 1000)} seconds. Stopping the LCC and removing ${dir}.`,
  );
}

/** The site is a copy: the demo changes it. DIR is relative to where the user stands: npm has moved us to the project. */
function prepareSite(given) {
  if (given === undefined) return copyDocumentation(site);
  const from = resolve((process.env.npm_lifecycle_event === 'demo' && process.env.INIT_CWD) || '.', given);
  if (!statSync(from, { throwIfNoEntry: false })?.isDirectory())
    throw new Error(`${from} is not a directory`);
  const skipped = copyTree(from, site);
  if (skipped.length > 0)
    say(`Left out of the copy of ${from}: ${some(skipped.map(path => relative(from, path)))}.`);
  if (countFiles(site) === 0) throw new Error(`${from} has no files to serve`);
}

/** Two pages, each with a word that no other page holds. */
async function twoPages(sqlite) {
  const { output } = await sh(
    `${sqlite} -bail index.db "CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5vocab('pages', 'row')" && ` +
      `${sqlite} index.db "SELECT term FROM words WHERE doc = 1 AND length(term) BETWEEN 7 AND 12 ` +
      `AND term NOT GLOB '*[^a-z]*' ORDER BY cnt DESC, term LIMIT 200"`,
    { quiet: true },
  );
  const pages = new Map();
  for (const word of output.split('\n').filter(Boolean)) {
    const found = await sh(`${sqlite} index.db "SELECT burl FROM pages WHERE pages MATCH '${word}'"`, {
      quiet: true,
    });
    const path = join('site', decodeURIComponent(new URL(found.output.trim()).pathname));
    if (!pages.has(path)) pages.set(path, { path, word });
    if (pages.size === 2) return [...pages.values()];
  }
  throw new Error('this needs a directory with at least two different pages of text');
}

/** Compares everything stored with its source on the site. */
async function compareStored() {
  const { output } = await sh('lccq --format=jsonl --fields=burl,file', { quiet: true });
  const rows = output
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line));
  const md5 = file => createHash('md5').update(readFileSync(file)).digest('hex');
  for (const { burl, file } of rows) {
    if (md5(file) !== md5(join(site, decodeURIComponent(new URL(burl).pathname))))
      throw new Error(`${file} differs from ${burl}`);
  }
  return `All ${rows.length} files stored equal their source (md5).`;
}

/** Runs a shell line as printed; its output is printed too, unless quiet. @returns its standard output */
function sh(line, { quiet = false, accept = [0], cwd = dir } = {}) {
  if (!quiet) show(line);
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'],
    // A process group of its own, so that the whole pipeline can be ended.
    detached: true,
  });
  running.add(child);
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      output += text;
      if (!quiet) process.stdout.write(text);
    });
    child.on('error', error => {
      running.delete(child);
      reject(error);
    });
    child.on('close', status => {
      running.delete(child);
      if (accept.includes(status)) resolve({ status, output });
      else reject(new Error(`exit status ${status} from: ${line}`));
    });
  });
}

/** Ends what runs and removes what there is; a second call waits for the first. */
function cleanUp() {
  return (cleaning ??= endAll());
}

async function endAll() {
  const ended = [...running].map(child => once(child, 'close'));
  for (const child of running) end(() => process.kill(-child.pid, 'SIGTERM'));
  await Promise.all(ended);
  if (isAlive(lccd)) {
    lccd.kill();
    await once(lccd, 'exit');
  }
  web?.close();
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

/** It may have ended by itself a moment ago. */
function end(kill) {
  try {
    kill();
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function isAlive(child) {
  return child !== undefined && child.exitCode === null && child.signalCode === null;
}

async function freePort(from) {
  const probe = createServer();
  const port = await listen(probe, from);
  await new Promise(resolve => probe.close(resolve));
  return port;
}

function standIn() {
  return `node ${quoted(join(root, 'examples/fts5/sqlite3.mjs'))}`;
}

function quoted(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** A list for one line. */
function some(items) {
  const rest = items.length - 3;
  return items.slice(0, 3).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}

function title(text) {
  console.log(`\n\n== ${text}`);
}

function say(text) {
  console.log(text);
}

function show(line) {
  console.log(`\n$ ${line}`);
}
