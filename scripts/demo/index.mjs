// npm run demo [-- DIR]: a private LCC, a small web server over a copy of DIR (default: this project's documentation),
// and the real pipeline, each command line printed as it is run. Everything lives in a temporary directory.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
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

process.on('SIGINT', () => void cleanUp().then(() => process.exit(130)));
process.on('SIGTERM', () => void cleanUp().then(() => process.exit(143)));
try {
  await demo(process.argv[2]);
} catch (error) {
  console.error(`demo: ${error.message}`);
  const log = join(dir, 'lccd.log');
  if (existsSync(log)) console.error(readFileSync(log, 'utf8').split('\n').slice(-20).join('\n'));
  process.exitCode = 1;
} finally {
  await cleanUp();
}

async function demo(given) {
  if (!existsSync(join(root, 'dist/bin/lccd.cjs'))) {
    say('The commands are not built yet: npm run build');
    await sh('npm run --silent build', { cwd: root, quiet: true });
  }
  copySite(given);
  web = await serve(site, 8080);
  const base = `http://127.0.0.1:${web.port}/`;
  const uns = `127.0.0.1:${await freePort(9000)}`;
  const sqlite =
    (await sh('command -v sqlite3', { quiet: true, may: true })).status === 0 ? 'sqlite3' : standIn();
  const search = async words => {
    const { output } = await sh(
      `${sqlite} index.db "SELECT burl FROM pages WHERE pages MATCH '${words}' ORDER BY rank"`,
    );
    if (output === '') say('(nothing)');
  };
  const pipeline =
    `file2url --docroot=site --find site -type f | lcccpstate --statefile=state.txt |\n` +
    `    lcccp --uns=${uns} --pid=1 --pwdfile=password --urlprefix=${base}`;
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
  await sh(`lccpidb add --pid=1 --root=${base} >password`);

  title('First run: the whole site');
  await sh(pipeline);
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
  await sh(pipeline);
  await sh('lccstat --until-idle=60');
  say(`The web server was asked for ${web.served.length} files.`);

  title('Third run: one file changed, one added, one deleted');
  await sh(`echo '<p>A quokka was here.</p>' >>${quoted(kept.path)}`);
  await sh(`echo '<title>New</title><p>An axolotl arrived.</p>' >site/new.html`);
  await sh(`rm ${quoted(doomed.path)}`);
  await sh(pipeline);
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

/** The site is a copy: the demo changes it. */
function copySite(given) {
  if (given !== undefined) {
    if (!statSync(given, { throwIfNoEntry: false })?.isDirectory())
      throw new Error(`${given} is not a directory`);
    cpSync(given, site, { recursive: true, preserveTimestamps: true, dereference: true });
    return;
  }
  mkdirSync(join(site, 'man'), { recursive: true });
  for (const file of readdirSync(root).filter(name => name.endsWith('.md')))
    cpSync(join(root, file), join(site, file));
  cpSync(join(root, 'docs'), join(site, 'docs'), { recursive: true });
  for (const page of readdirSync(join(root, 'man')))
    cpSync(join(root, 'man', page), join(site, 'man', `${page}.txt`));
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
function sh(line, { quiet = false, may = false, cwd = dir } = {}) {
  if (!quiet) show(line);
  const child = spawn('bash', ['-o', 'pipefail', '-c', line], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', quiet ? 'ignore' : 'inherit'],
  });
  running.add(child);
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.setEncoding('utf8').on('data', text => {
      output += text;
      if (!quiet) process.stdout.write(text);
    });
    child.on('error', reject);
    child.on('close', status => {
      running.delete(child);
      if (status === 0 || may) resolve({ status, output });
      else reject(new Error(`exit status ${status} from: ${line}`));
    });
  });
}

async function cleanUp() {
  for (const child of running) child.kill();
  if (lccd !== undefined && lccd.exitCode === null && lccd.signalCode === null) {
    lccd.kill();
    await new Promise(resolve => lccd.on('exit', resolve));
  }
  web?.close();
  rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
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

function countFiles(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).filter(entry => entry.isFile()).length;
}

function quoted(text) {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
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
