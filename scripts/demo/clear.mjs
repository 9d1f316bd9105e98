// Cache clearing: three rails that keep pages of a site, one of them away while a page changes, and the feed of an LCC.
import { randomBytes } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileOn, makeBalancer, makeRail, read, Reader } from './rails.mjs';
import { say, title } from './scene.mjs';

/** Of rails, and of what divides the readers among them. */
const PORT = 8181;

export async function showClearing(scene) {
  const { dir, sh } = scene;
  const site = join(dir, 'site');
  mkdirSync(site);
  for (const page of ['about.html', 'weather.html']) writeFileSync(join(site, page), '<p>rain</p>\n');
  const web = await scene.serve(site);
  const base = `http://127.0.0.1:${web.port}/`;
  const password = randomBytes(12).toString('hex');
  const rails = [];
  for (const name of ['www1', 'www2', 'www3'])
    rails.push(makeRail(scene, name, await scene.freePort(PORT), base.slice(0, -1), password));
  const [, , third] = rails;
  const balancer = makeBalancer(scene, await scene.freePort(PORT), rails);
  const uns = `127.0.0.1:${await scene.freePort(9000)}`;
  /** Reads a page on these servers. @throws Error when one has another text */
  const expect = async (page, text, servers = [...rails, balancer]) => {
    for (const server of servers) {
      const found = await read(server.url + page);
      say(`${server.folder.padEnd(8)} /${page}: ${found}`);
      if (found !== `<p>${text}</p>`) throw new Error(`${server.url}${page} is not what it must be: ${text}`);
    }
  };

  title('A site, three rails, a load balancer');
  say(
    `The site is ${base}. A rail is a web server that keeps pages of it as files: what it does not have, it gets`,
  );
  say(`from the site. Readers ask the load balancer, ${balancer.url}. All files of this demo are below`);
  say(`${dir}; examples/clear/nginx-dav has a rail for the real world, with TLS.`);
  for (const server of [...rails, balancer]) await server.start();
  await expect('weather.html', 'rain');
  await expect('about.html', 'rain', rails);

  title('An LCC that clears');
  say('One setting, and the login of the rails in a file that only its owner reads:');
  await sh('export LCC_HOME=$PWD/lcc; mkdir -p lcc/clear');
  await sh(`printf '[clear]\\nenabled = true\\n' >lcc/lcc.toml`);
  await sh(`(umask 077; printf '[fleet]\\nbasic = "cachebot:${password}"\\n' >lcc/clear/secrets.toml)`);
  scene.startLcc([`--listen=${uns}`, '--allow-address=127.0.0.0/8']);
  await sh('lccstat --until-idle=30');
  await sh('lccrail target add www');
  await sh('lccrail map add www --type=@url --path=/');
  for (const { folder, url } of rails)
    await sh(`lccrail add ${folder} --target=www --driver=nginx-dav --auth=fleet --url=${url}`);
  await sh('lccrail check www1');

  title('One page changes: no rail knows of it until it is cleared');
  await sh(`echo '<p>sunshine</p>' >site/weather.html`);
  await expect('weather.html', 'rain', rails);
  await sh('lccclear --target=www --wait=10 /weather.html');
  await expect('weather.html', 'sunshine');

  title('A rail goes down, and the page changes again');
  await sh(`sed -i 's/:${third.port};/:${third.port} down;/' balancer/rails.conf`);
  await sh('nginx -p balancer -e error.log -c nginx.conf -s reload');
  await third.stop();
  await sh(`echo '<p>snow and ice</p>' >site/weather.html`);
  await sh('lccclear --target=www --wait=10 /weather.html');
  say('That waited for the rails that are there. What the third lacks is kept for it:');
  await sh('lccclearq backlog');
  await sh('lccrail status www3');
  await expect('weather.html', 'snow and ice', [...rails.slice(0, 2), balancer]);

  title('It comes back');
  await third.start();
  await expect('weather.html', 'sunshine', [third]);
  say('It still has the old page. The load balancer gets it back only when nothing waits for it any more:');
  await sh('lccrail up www3 --wait=30');
  await sh(
    `sed -i 's/ down;/;/' balancer/rails.conf && nginx -p balancer -e error.log -c nginx.conf -s reload`,
  );
  await expect('weather.html', 'snow and ice');
  await sh('lccclearq');

  title('The feed: what the LCC fetched is cleared');
  say(
    'The site says what it has, the LCC fetches what is new, and each change is cleared where the rules say.',
  );
  const rules = { providers: { 1: { target: 'www', urls: [{ prefix: base, type: '@url', path: '/' }] } } };
  const deliver =
    `file2url --docroot=site --find site -type f | lcccpstate -q --statefile=state.txt |\n` +
    `    lcccp -q --uns=${uns} --pid=1 --pwdfile=password --urlprefix=${base}`;
  const clear = `lccq --cursor=clear.cursor --format=jsonl -- lccclear --stdin=jsonl --rules=rules.json --wait=30`;
  await sh(`(umask 077; lccpidb add --pid=1 --root=${base} >password)`);
  await sh(`echo '${JSON.stringify(rules)}' >rules.json`);
  const publish = async () => {
    await sh(deliver);
    await sh('lccstat --until-idle=60');
    await sh(clear);
    await sh('lccstat --until-idle=60', { quiet: true });
  };
  await publish();
  await expect('about.html', 'rain', rails);
  say('From now on only what changes is cleared:');
  await sh(`echo '<p>fog in the morning</p>' >site/weather.html`);
  await publish();
  for (const rail of rails) {
    if (fileOn(scene, rail, 'about.html') === undefined)
      throw new Error(`${rail.folder} has lost /about.html, which did not change`);
  }
  await expect('weather.html', 'fog in the morning');
  await sh('lccclearq');

  title('A page that readers never miss');
  say(
    'A page with a soft rule is not removed: lccd-soft has the load balancer make the new one, under a name that',
  );
  say('no rail has yet, and puts it in the place of the old one on each of them.');
  await sh(`lccrail target add www --lb-url=${balancer.url}`);
  await sh('lccrail soft add www /about.html');
  await sh(`echo '<p>rain, or no rain</p>' >site/about.html`);
  const reader = new Reader(`${balancer.url}about.html`);
  await publish();
  await expect('about.html', 'rain, or no rain');
  sayWhatWasRead(await reader.end(), ['<p>rain</p>', '<p>rain, or no rain</p>']);
  say('The names under which it was made are gone:');
  await sh('find www1/pages www2/pages www3/pages -type f | sort');

  title('Done');
  say('Every rail is fresh, and no reader has missed /about.html.');
  scene.sayTheEnd();
}

/** @param counts how often each text was read @throws Error for texts other than the old and the new one */
function sayWhatWasRead(counts, [before, after]) {
  const [old = 0, fresh = 0] = [counts.get(before), counts.get(after)];
  const all = [...counts.values()].reduce((sum, count) => sum + count, 0);
  say('A reader asked the load balancer for /about.html all the time:');
  say(
    `${old} times it was the old page, ${fresh} times the new one, ${all - old - fresh} times anything else.`,
  );
  if (all !== old + fresh || old === 0 || fresh === 0)
    throw new Error(`a reader got: ${JSON.stringify([...counts])}`);
}
