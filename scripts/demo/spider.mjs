// The Spider: a URL server in Python, which is no part of LCC, has a small site fetched; the store server is killed meanwhile.
import { copyFileSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, root, say, show, title } from './scene.mjs';

const EXAMPLES = join(root, 'examples/spider');
const PAGES_FROM = join(root, 'docs/design');
/** Of the URL server, and of the store server. */
const PORT = 9021;

export async function showSpider(scene) {
  const { dir, sh } = scene;
  const site = join(dir, 'site');
  mkdirSync(site);
  for (const name of ['url-server.py', 'records.py', 'records.pl'])
    copyFileSync(join(EXAMPLES, name), join(dir, name));
  const pages = readdirSync(PAGES_FROM).filter(name => name.endsWith('.md'));
  for (const page of pages) copyFileSync(join(PAGES_FROM, page), join(site, page));
  const web = await scene.serve(site);
  const base = `http://127.0.0.1:${web.port}/`;
  const urls = [...pages, 'missing.html'].map(page => base + page);
  writeFileSync(join(dir, 'urls'), urls.map(url => `${url}\n`).join(''));
  const urlServer = await scene.freePort(PORT);
  const store = await scene.freePort(PORT);
  const startStore = () => start(scene, 'lccstored', [`--listen=127.0.0.1:${store}`, '--dir=store']);

  title('A site, a spider, a store server');
  say(`The site ${base} has ${pages.length} pages, and one of the urls below leads nowhere.`);
  say('The spider asks a URL server what it is to fetch, and sends the results to a store server.');
  await sh('wc -l <urls');
  const first = startStore();
  start(scene, 'lccspider', [
    `--urlserver=127.0.0.1:${urlServer}`,
    `--store=127.0.0.1:${store}`,
    '--allow-address=127.0.0.0/8',
    '-c',
    '32',
  ]);

  title('A URL server in Python: forty lines that LCC knows nothing of');
  const line = `python3 url-server.py ${urlServer} urls`;
  await sh(line);
  say('Every url is done when its record is on the disk of the store server:');
  await sh('lccrec --store=store --tsv | cut -f 1-3,5,7,9');
  await compare(scene, pages, urls);

  title('The store is a stream of records, which other languages read');
  await sh(`cat store/docs/*/* | perl records.pl | cut -f 1-3,5,7,9 | sort -n | head -n 3`);
  await sh('cat store/docs/*/* | python3 records.py | sort >python.tsv');
  await sh('cat store/docs/*/* | lccrec --tsv | sort | cmp - python.tsv');
  say('What Python and lccrec say of them is the same, byte by byte.');

  title('The pages change, and the store server is killed while they are fetched');
  await sh('for page in site/*.md; do echo "A new line." >>$page; done');
  show('kill -9 %1');
  first.isExpected = true;
  first.child.kill('SIGKILL');
  const again = sh(line);
  const isWaiting = await Promise.race([again.then(() => false), isFetched(web, 2 * pages.length)]);
  if (!isWaiting) throw new Error('urls were done although there was no store server');
  say('The spider has fetched all of it, and says that nothing is done: nobody has it on disk.');
  const second = startStore();
  await again;
  await compare(scene, pages, urls);

  title('Done');
  if (!isAlive(second)) throw new Error('the store server has ended');
  say(
    'A foreign URL server had a site fetched twice, and nothing was lost when the store server was killed.',
  );
  say('lcc-spider(5) describes the lines and the record; lccurld(8) is a URL server that is polite.');
  scene.sayTheEnd();
}

function start(scene, name, args) {
  show(`${name} ${args.join(' ')} 2>${name}.log &`);
  return scene.start(join(root, 'bin', name), args, `${name}.log`);
}

/** @throws Error when a document is not the page */
async function compare(scene, pages, urls) {
  for (const [index, page] of pages.entries())
    await scene.sh(`lccrec --store=store --body=${index + 1} | cmp - site/${page}`, { quiet: true });
  const { output } = await scene.sh('lccrec --store=store --tsv', { quiet: true });
  const failed = output.split('\n').filter(line => /^\d+\t0\t/.test(line));
  if (failed.length !== urls.length - pages.length)
    throw new Error(`not one url has failed:\n${failed.join('\n')}`);
  say(`\nAll ${pages.length} documents equal their pages; ${failed.length} url failed, with status 404.`);
}

/** Resolves with true when the web server has been asked for this many pages. */
async function isFetched(web, count) {
  while (web.served.length < count) await new Promise(resolve => setTimeout(resolve, 20));
  return true;
}
