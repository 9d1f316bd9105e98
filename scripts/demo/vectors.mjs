// Pages for a model: a table of vectors in step with a site, and what of it is embedded anew. No model and no network.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { quoted, root, say, title } from './scene.mjs';

const TOPICS = ['backup', 'replication', 'indexes', 'users', 'upgrades', 'logging', 'queries', 'storage'];
const sentence = (topic, part) =>
  `Chapter ${part} on ${topic} says what ${topic} are for, how they are set up, what they cost, and what can go wrong with ${topic} number ${part}. `;
const pageOf = (topic, footer) =>
  `<!doctype html><title>All about ${topic}</title><main><h1>${topic}</h1>` +
  Array.from(
    { length: 6 },
    (_, i) => `<h2>Part ${i + 1}</h2><p>${sentence(topic, i + 1).repeat(3)}</p>`,
  ).join('') +
  `</main><footer>${footer}</footer>`;

export async function showVectors(scene) {
  const { dir, sh } = scene;
  const site = join(dir, 'site');
  mkdirSync(site);
  const file = topic => join(site, `${topic}.html`);
  for (const topic of TOPICS) writeFileSync(file(topic), pageOf(topic, 'Version 1'));
  const web = await scene.serve(site);
  const base = `http://127.0.0.1:${web.port}/`;
  const uns = `127.0.0.1:${await scene.freePort(9000)}`;
  const example = quoted(join(root, 'examples/vectors'));
  const step = async () => {
    await sh(
      `file2url --docroot=site --find site -type f | lcccpstate --statefile=state.txt |\n` +
        `    lcccp --uns=${uns} --pid=1 --pwdfile=password --urlprefix=${base}`,
    );
    await sh('lccstat --until-idle=60');
    await sh(`lccq --batch=200 --stay --cursor=v.cursor --format=chunks -- node ${example}/vectors.mjs v.db`);
  };
  const search = words => sh(`node ${example}/search.mjs v.db --limit=2 '${words}'`);

  title(`A site of ${TOPICS.length} pages, a private LCC, and a table of vectors`);
  say('The vectors are hashed words, for there is no model here; --embed names one.');
  scene.startLcc([`--listen=${uns}`, '--allow-address=127.0.0.0/8']);
  await sh('lccstat --until-idle=30');
  await sh(`(umask 077; lccpidb add --pid=1 --root=${base} >password)`);
  await step();
  await search('what does replication cost?');

  title('A paragraph is edited');
  const edited = readFileSync(file('backup'), 'utf8').replace(
    'Chapter 3 on',
    'Chapter 3, with dumps and restores, on',
  );
  writeFileSync(file('backup'), edited);
  await step();
  await search('restore a dump');

  title('Another footer on every page');
  for (const topic of TOPICS) {
    const page = readFileSync(file(topic), 'utf8');
    writeFileSync(file(topic), page.replace('Version 1', 'Version 2'));
  }
  await step();

  title('A page is gone');
  rmSync(file('replication'));
  await step();
  await search('what does replication cost?');

  title('The one line that keeps it in step');
  say('lccq --follow --stay --batch=200 --cursor=v.cursor --format=chunks -- node vectors.mjs v.db');
}
