/** examples/clear/apache-wildcard: lccd-soft, a real Apache with both configurations, and the script. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { Authority } from '../fetch/authority.js';
import {
  noExampleServers,
  startApacheExample,
  withReplaced,
  type Replacements,
} from '../support/example-rails.js';
import { freePort } from '../support/free-port.js';
import { TestSite } from '../support/site.js';
import { SoftHome } from '../support/soft.js';
import { readProjectFile, ROOT } from '../support/tree.js';

const EXAMPLE = 'examples/clear/apache-wildcard';
const OTHERS = ['a-2026.html', 'a-20261123142647123.html.bak', 'a-sports.html', 'b-20261123142647123.html'];

it(
  'apache-wildcard: a page is put, and all names that it was generated under go at once, and no other file',
  { skip: noExampleServers },
  async () => {
    const home = new SoftHome();
    const { dir } = home;
    chmodSync(dir, 0o755);
    const folder = (name: string) => {
      mkdirSync(join(dir, name), { recursive: true });
      if (process.getuid?.() === 0) execFileSync('chown', ['www-data', join(dir, name)]);
      return join(dir, name);
    };
    const [docroot, news, lib] = [folder('www'), folder('www/news'), folder('lib')];
    folder('lock');
    const passwords = join(dir, 'passwords');
    execFileSync('htpasswd', ['-b', '-c', '-m', passwords, 'cachebot', 'secret'], { stdio: 'ignore' });
    copyFileSync(join(ROOT, EXAMPLE, 'remove-generated'), join(lib, 'remove-generated'));
    const authority = new Authority();
    const { keyFile, certFile } = authority.issue('localhost');
    const port = await freePort();
    const paths: Replacements = [['/etc/apache2/lcc-rail.htpasswd', passwords]];
    const wildcard = withReplaced(`${EXAMPLE}/lcc-wildcard.conf`, [...paths, ['/usr/local/lib/lcc', lib]]);
    const site = withReplaced('examples/clear/apache-dav/lcc-rail.conf', [
      ...paths,
      ['/etc/ssl/lcc-rail/cert.pem', certFile],
      ['/etc/ssl/lcc-rail/key.pem', keyFile],
      ['*:443', `*:${port}`],
      ['/srv/www', docroot],
      ['</VirtualHost>', `${wildcard}</VirtualHost>`],
    ]);
    const enabled = ['examples/clear/apache-dav', EXAMPLE].flatMap(
      example => /a2enmod (.+)/.exec(readProjectFile(`${example}/README.md`))?.[1]?.split(' ') ?? [],
    );
    const server = await startApacheExample(dir, port, site, enabled);
    // The rail writes what it generates.
    const balancer = await TestSite.listen((asked, response) => {
      writeFileSync(docroot + (asked.url ?? ''), 'generated');
      response.writeHead(200, { 'content-length': 3 }).end('new');
    });
    after(async () => {
      await home.end();
      await server.stop();
      balancer.close();
    });
    writeFileSync(join(dir, 'ca.pem'), authority.ca);
    writeFileSync(
      join(dir, 'clear/secrets.toml'),
      `[fleet]\nbasic = "cachebot:secret"\nca = "${join(dir, 'ca.pem')}"\n`,
      { mode: 0o600 },
    );
    for (const name of ['a.html', ...OTHERS]) writeFileSync(join(news, name), 'old');
    // Of an earlier generation.
    writeFileSync(join(news, 'a-20250101000000000.html'), 'left');
    home.db.targets.put({ name: 'www', kind: 'elementary', lbUrl: `${balancer.url}/`, host: null });
    const [line = ''] = /^ {4}lccrail add .*$/m.exec(readProjectFile(`${EXAMPLE}/README.md`)) ?? [];
    assert.match(line, / --driver=apache-dav --cleanup=wildcard .* --auth=fleet$/);
    home.addRail('www1', { url: `https://localhost:${port}/`, cleanup: 'wildcard', authRef: 'fleet' });
    home.publish('/news/a.html');
    home.startSoft();
    await home.untilPublished();
    assert.deepEqual(readdirSync(news).toSorted(), [...OTHERS, 'a.html'].toSorted());
    assert.equal(readFileSync(join(news, 'a.html'), 'utf8'), 'new');
    assert.deepEqual([home.db.soft.generated(), home.db.backlog.counts()], [[], []]);

    const asked = request(`https://localhost:${port}/news/a-*.*`, { method: 'DELETE', ca: authority.ca });
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage];
    assert.equal(answer.resume().statusCode, 401, 'not for everybody');
  },
);
