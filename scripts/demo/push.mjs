// Pushes: a site without any of our commands says by IndexNow, or by a ping, what has changed, and a consumer hears of it at
// once, by curl on both sides.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { say, show, title } from './scene.mjs';

const KEY = '7f4e9c21d0b84a6f';
/** A change is to be with the consumer within this time. */
const SOON_MS = 2000;
const LONGEST_MS = 30_000;

export async function showPush(scene) {
  const { dir, sh } = scene;
  mkdirSync(join(dir, 'site'));
  writeFileSync(join(dir, 'site/news.html'), '<h1>A quokka was seen.</h1>\n');
  const site = await scene.serve(join(dir, 'site'));
  const host = `127.0.0.1:${site.port}`;
  const uns = `127.0.0.1:${await scene.freePort(9000)}`;
  const rs = `127.0.0.1:${await scene.freePort(9080)}`;
  const feed = `127.0.0.1:${await scene.freePort(9011)}`;

  title('A site with a plugin, and an LCC that listens');
  say(`A small web server serves it on http://${host}/; all files of this demo are below ${dir}.`);
  mkdirSync(join(dir, 'lcc'), { mode: 0o750 });
  writeFileSync(
    join(dir, 'lcc/lcc.toml'),
    `[rs]\nlisten = ["${rs}"]\nurl = "http://${rs}/"\nports = ["${site.port}"]\n[push]\nurl_interval_ms = "1s"\n[cu]\nhttp_listen = ["${feed}"]\nanonymous = true\n`,
  );
  await sh('cat lcc/lcc.toml');
  scene.startLcc([`--listen=${uns}`, '--allow-address=127.0.0.0/8']);
  await sh('lccstat --until-idle=30');
  await sh(`(umask 077; lccpidb add --pid=7 --root=http://${host}/ >password)`);
  say('The site shows a key, as plugins do by themselves. Nobody installs anything there:');
  await sh(`echo ${KEY} >site/${KEY}.txt`);

  title('A consumer waits for changes');
  const follow = `curl -N -sS -H 'Accept: text/event-stream' 'http://${feed}/changes?fields=op,curl,md5' >changes.txt`;
  show(`${follow} &`);
  scene.start('bash', ['-c', `exec ${follow}`], 'consumer.log');

  title('The plugin pushes');
  const push = path => sh(`curl -sS 'http://${rs}/indexnow?key=${KEY}&url=http://${host}/${path}'; echo`);
  await comes(scene, () => push('news.html'), 'upsert', 'news.html');
  say('The page changes, and is pushed once more:');
  await sh('sed -i s/quokka/wombat/ site/news.html');
  await comes(scene, () => push('news.html'), 'upsert', 'news.html');
  say('It is taken off, and the plugin says so in the same way: what the site answers decides.');
  await sh('rm site/news.html');
  await comes(scene, () => push('news.html'), 'delete', 'news.html');

  title('A weblog pings');
  say(
    'It has a feed, which is listed once, and tells of its posts as WordPress does: by a ping that says no more than "news".',
  );
  writeFileSync(join(dir, 'site/first.html'), '<h1>The first post</h1>\n');
  writeFileSync(join(dir, 'site/feed.xml'), feedOf(host, ['first.html']));
  await comes(scene, () => sh(`lccrs feed add --pid=7 http://${host}/feed.xml`), 'upsert', 'first.html');
  say('A post is published:');
  writeFileSync(join(dir, 'site/second.html'), '<h1>The second post</h1>\n');
  writeFileSync(join(dir, 'site/feed.xml'), feedOf(host, ['second.html', 'first.html']));
  await sh('cat site/feed.xml');
  const ping = `curl -sS -w '%{http_code}\\n' -d hub.mode=publish -d hub.url=http://${host}/feed.xml http://${rs}/ping`;
  await comes(scene, () => sh(ping), 'upsert', 'second.html');

  title('Somebody else pushes');
  say('The key of another site, or none, has nothing fetched but the file of the key:');
  site.requests.length = 0;
  await sh(`curl -sS 'http://${rs}/indexnow?key=not-the-key-of-it&url=http://${host}/news.html'; echo`);
  say(`The web server was asked for: ${site.requests.join(', ')}`);
  await sh(`curl -sS 'http://${rs}/indexnow?key=${KEY}&url=http://www.example.org/'; echo`);

  title('Done');
  // What is refused is gathered for a second.
  await later(1500);
  await sh('lccrs show --pid=7');
  scene.sayTheEnd();
}

/** Waits for a change that the consumer has. @throws Error when it does not come */
async function comes({ dir }, push, op, path) {
  const linesNow = () => {
    try {
      const text = readFileSync(join(dir, 'changes.txt'), 'utf8');
      return [...text.matchAll(/^data: (.*)\n/gm)].map(([, line]) => line);
    } catch {
      return [];
    }
  };
  const before = linesNow().length;
  await push();
  const pushedAt = Date.now();
  let line;
  const isMeant = one => one.includes(`"op":"${op}"`) && one.includes(path);
  while ((line = linesNow().slice(before).find(isMeant)) === undefined) {
    if (Date.now() - pushedAt > LONGEST_MS) throw new Error(`${op} of ${path} does not come`);
    await later(20);
  }
  const tookMs = Date.now() - pushedAt;
  const took = tookMs < SOON_MS ? 'less than 2 seconds' : `${Math.ceil(tookMs / 1000)} seconds`;
  say(`After ${took} the consumer has: ${line}`);
}

function feedOf(host, pages) {
  const items = pages.map(
    page => `<item><title>${page}</title><link>http://${host}/${page}</link><guid>${page}</guid></item>`,
  );
  return `<?xml version="1.0"?>\n<rss version="2.0"><channel><title>News</title><link>http://${host}/</link>\n${items.join('\n')}\n</channel></rss>\n`;
}

function later(ms) {
  return new Promise(resolve => setTimeout(resolve, ms));
}
