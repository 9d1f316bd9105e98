// A crawl: a site that announces nothing is found, changes, and is asked again; and an owner's announcements get a score.
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { quoted, root, say, show, title } from './scene.mjs';

const LATER = quoted(join(root, 'scripts/demo/later.mjs'));
const HOUR_S = 3600;
const DAY_S = 24 * HOUR_S;
/** The pages are older than what happens to them. */
const WRITTEN = new Date(Date.now() - HOUR_S * 1000);
/** How long an audit may take to settle. */
const SETTLED_MS = 60_000;

/** /private.html is forbidden, /lost.html is not there, and nothing leads to /hidden.html. */
const PAGES = {
  'robots.txt': 'User-agent: *\nDisallow: /private\n',
  'index.html': page('Start', ['news/1.html', 'about.html#top', 'private.html']),
  'about.html': page('About', ['index.html', 'lost.html']),
  'news/1.html': page('The first news', ['2.html', '../lost.html']),
  'news/2.html': page('More news', ['3.html', '../index.html']),
  'news/3.html': page('The latest news', ['1.html?utm_source=news', '../lost.html']),
  'private.html': page('Private', ['hidden.html']),
  'hidden.html': page('Hidden', []),
};
/** What a crawl finds of them. */
const FOUND = ['/about.html', '/index.html', '/news/1.html', '/news/2.html', '/news/3.html'];
const SHOP = ['bread', 'cheese', 'honey', 'tea'];

export async function showCrawl(scene) {
  const { dir, sh } = scene;
  writePages(join(dir, 'site'), PAGES);
  writePages(
    join(dir, 'shop'),
    Object.fromEntries(SHOP.map(name => [`${name}.html`, page(`${name}: 2.50`, [])])),
  );
  const site = await scene.serve(join(dir, 'site'));
  const shop = await scene.serve(join(dir, 'shop'));
  const [base, shopBase] = [site, shop].map(({ port }) => `http://127.0.0.1:${port}/`);
  const uns = `127.0.0.1:${await scene.freePort(9000)}`;
  const crawled = () => sh('lccstat --until-idle=60 --cursor=links.cursor');
  const later = async (seconds, text) => {
    say(text);
    await sh(`node ${LATER} ${seconds}`);
  };
  /** Changes pages of the shop a minute ago: of what has changed within this second nobody is told 304 (RFC 9110, 8.8.2.2). */
  const change = async (command, ...names) => {
    await sh(command);
    const at = Date.now() / 1000 - 60;
    for (const name of names) utimesSync(join(dir, `shop/${name}.html`), at, at);
  };
  /** Prints what a web server was asked for. @throws Error when it is anything else, or not each once */
  const expectAsked = (web, wanted) => {
    const asked = web.requests.splice(0).sort();
    say(`The web server was asked for: ${asked.join(', ') || 'nothing'}`);
    if (asked.join() !== wanted.toSorted().join()) throw new Error(`wanted was: ${wanted.join(', ')}`);
  };

  title('A site that announces nothing');
  say(`A small web server serves it on ${base}; all files of this demo are below ${dir}.`);
  await sh('cat site/robots.txt');
  await sh(`grep -ro 'href="[^"]*"' site | sort`);
  scene.startLcc([`--listen=${uns}`, '--allow-address=127.0.0.0/8']);
  await sh('lccstat --until-idle=30');
  say('The operator makes it a provider; --pace=0, for this web server needs no pause between two requests:');
  await sh(`lccpidb add --pid=100 --root=${base} --spider=yes --pace=0`);

  title('It is crawled');
  say(
    'A service follows the LCC: what is fetched is read for links, which are fetched, until nothing is new.',
  );
  const service = ['--follow', '--stay', '--cursor=links.cursor', '--', 'lcclinks', '--deliver', '--stay'];
  show(`lccq ${service.join(' ')} &`);
  scene.start(join(root, 'bin/lccq'), service, 'links.log');
  await sh(`echo ${base}index.html | lcclinks --seeds --deliver`);
  await crawled();
  await sh('lccq --format=urls | sort');
  expectAsked(site, [...FOUND.map(path => `${path} 200`), '/lost.html 404', '/robots.txt 200']);
  await compareStored(scene, base, FOUND);
  say(
    'Three pages link to /lost.html, which was asked for once. /private.html was not: robots.txt forbids it.',
  );

  title('It changes, and says nothing');
  await sh(`echo '<a href="4.html">A quokka was seen.</a>' >>site/news/3.html`);
  await sh(`echo '<h1>The quokka</h1>' >site/news/4.html`);
  await sh('rm site/news/2.html');
  await later(DAY_S, 'A day passes: the demo writes into lcc.db that all was fetched a day earlier.');
  await sh('lccscan --limit=10 --deliver -v');
  await crawled();
  expectAsked(site, [
    '/about.html 304',
    '/index.html 304',
    '/news/1.html 304',
    '/news/2.html 404',
    '/news/3.html 200',
    '/news/4.html 200',
  ]);
  say(
    'What had not changed was not sent again. The new page was found by its link. A page that is gone is kept',
  );
  say('until it was missed twice, an hour apart:');
  await later(HOUR_S + 1, 'An hour passes.');
  await sh('lccscan --limit=10 --deliver');
  await crawled();
  await sh('lccq --format=urls | sort');
  await compareStored(scene, base, [
    '/about.html',
    '/index.html',
    '/news/1.html',
    '/news/3.html',
    '/news/4.html',
  ]);
  say('Nothing waits now, and what was asked for within the hour is left alone:');
  await sh('lccscan --limit=10');

  title('An owner that announces, and what that is worth');
  say(`${shopBase} announces what changes, as sites do that run the commands of a content provider.`);
  await sh(`(umask 077; lccpidb add --pid=7 --root=${shopBase} >password)`);
  const announce = async accept => {
    await sh(
      `file2url --docroot=shop --find shop -type f | lcccpstate -q --statefile=state.txt |\n` +
        `    lcccp --uns=${uns} --pid=7 --pwdfile=password --urlprefix=${shopBase}`,
      { accept },
    );
    await sh('lccstat --until-idle=60');
  };
  await announce();
  say(
    'It says of two pages that they have changed. One has not; and of a third, which has, it says nothing.',
  );
  await later(DAY_S, 'But first a day passes.');
  await change('sed -i s/2.50/2.75/ shop/bread.html; touch shop/cheese.html', 'bread', 'cheese');
  await announce();
  await change('sed -i s/2.50/1.99/ shop/tea.html', 'tea');
  shop.requests.length = 0;
  await later(
    HOUR_S + 1,
    'An hour later the LCC draws a sample of what the owner announced, and asks for it:',
  );
  await sh('lccscan --audit --deliver -v');
  await sh('lccstat --until-idle=60');
  expectAsked(shop, [
    ...SHOP.filter(name => name !== 'tea').map(name => `/${name}.html 304`),
    '/tea.html 200',
  ]);
  await later(
    11 * 60,
    'At what had changed it looks again within ten minutes: a page may have a clock in it.',
  );
  for (let isAsked = false; !isAsked; isAsked = shop.requests.length > 0)
    await sh('lccstat --until-idle=60', { quiet: true });
  await sh('lccstat --until-idle=60');
  expectAsked(shop, ['/tea.html 304']);
  await later(HOUR_S + 1, 'What is not announced within an hour is silent:');
  await untilSettled(scene);
  await sh('lccstat --truth');
  say(
    'C had changed, S had not; A were audited, Q of them were silent. The audit has mended the LCC, and the',
  );
  say('owner hears of it:');
  await announce([1]);
  await sh(`lcccp --status --uns=${uns} --pid=7 --pwdfile=password --urlprefix=${shopBase}`);

  title('Done');
  await compareStored(
    scene,
    shopBase,
    SHOP.map(name => `/${name}.html`),
  );
  scene.sayTheEnd();
}

function page(text, links) {
  return `<h1>${text}</h1>\n${links.map(link => `<a href="${link}">more</a>\n`).join('')}`;
}

function writePages(docroot, pages) {
  for (const [path, text] of Object.entries(pages)) {
    const file = join(docroot, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    utimesSync(file, WRITTEN, WRITTEN);
  }
}

/** Compares what the LCC holds of a site with what is there. */
async function compareStored({ dir, sh }, base, paths) {
  const { output } = await sh('lccq --format=jsonl --fields=curl,file', { quiet: true });
  const rows = output
    .split('\n')
    .filter(Boolean)
    .map(line => JSON.parse(line))
    .filter(({ curl }) => curl.startsWith(base));
  const held = rows.map(({ curl }) => `/${curl.slice(base.length)}`).sort();
  if (held.join() !== paths.join()) throw new Error(`held are ${held.join(', ')}, not ${paths.join(', ')}`);
  const folder = existsSync(join(dir, 'site', paths[0])) ? 'site' : 'shop';
  const md5 = file => createHash('md5').update(readFileSync(file)).digest('hex');
  for (const { curl, file } of rows)
    if (md5(file) !== md5(join(dir, folder, curl.slice(base.length))))
      throw new Error(`${file} differs from ${curl}`);
  say(`All ${rows.length} pages stored equal their source (md5).`);
}

/** The Queue Manager looks every few seconds. */
async function untilSettled({ sh }) {
  for (let isSettled = false; !isSettled;) {
    const { output } = await sh('lccstat --truth --json', { quiet: true });
    isSettled = JSON.parse(output).providers.some(({ q }) => q > 0);
  }
}
