// A small web server over a copy of a directory, the real pipeline, and an index that is searched.
import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { quoted, root, say, title } from './scene.mjs';
import { copyDocumentation, copyTree, countFiles } from './site.mjs';

/** @param given a directory; without one, this project's documentation */
export async function showDocuments(scene, given) {
  const { dir, sh } = scene;
  const site = join(dir, 'site');
  prepareSite(site, given);
  const web = await scene.serve(site);
  const base = `http://127.0.0.1:${web.port}/`;
  const uns = `127.0.0.1:${await scene.freePort(9000)}`;
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
  scene.startLcc([`--listen=${uns}`, '--allow-address=127.0.0.0/8']);
  await sh('lccstat --until-idle=30');
  await sh(`(umask 077; lccpidb add --pid=1 --root=${base} >password)`);

  title('First run: the whole site');
  await deliver();
  await sh('lccstat --until-idle=600');
  await sh('lccq --count');
  await sh('lccq --limit=1');
  say(`The web server was asked for ${web.served.length} files. ${await compareStored(scene, site)}`);
  say('From the LCC into a full-text index (SQLite FTS5), remembering how far it came:');
  await sh(index);
  const [kept, doomed] = await twoPages(scene, sqlite);
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
  say(
    `${await compareStored(scene, site)} The site has ${countFiles(site)}, and the index knows their text.`,
  );
  scene.sayTheEnd();
}

/** The site is a copy: the demo changes it. DIR is relative to where the user stands: npm has moved us to the project. */
function prepareSite(site, given) {
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
async function twoPages({ sh }, sqlite) {
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
async function compareStored({ sh }, site) {
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

function standIn() {
  return `node ${quoted(join(root, 'examples/fts5/sqlite3.mjs'))}`;
}

/** A list for one line. */
function some(items) {
  const rest = items.length - 3;
  return items.slice(0, 3).join(', ') + (rest > 0 ? ` and ${rest} more` : '');
}
