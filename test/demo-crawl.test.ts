import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { constants } from 'node:os';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { DemoHome, finish, untilPrinted } from './support/demo.js';

describe('the demo of a crawl', () => {
  let home: DemoHome;
  beforeEach(() => void (home = new DemoHome()));
  afterEach(() => home.remove());

  it('crawls a site, finds what changed and what is gone, and gives an owner its score', async () => {
    const { status, output, complaints } = await finish(home.start('crawl'));
    assert.equal(status, 0, output + complaints);
    const part = (title: string) => output.split('\n\n\n').find(text => text.startsWith(`== ${title}`)) ?? '';
    const asked = (title: string) =>
      [...part(title).matchAll(/^The web server was asked for: (.*)$/gm)].map(([, list]) => list);
    assert.deepEqual(asked('It is crawled'), [
      '/about.html 200, /index.html 200, /lost.html 404, /news/1.html 200, /news/2.html 200, /news/3.html 200, /robots.txt 200',
    ]);
    assert.deepEqual(asked('It changes'), [
      '/about.html 304, /index.html 304, /news/1.html 304, /news/2.html 404, /news/3.html 200, /news/4.html 200',
    ]);
    assert.match(
      part('It changes'),
      /^http:\S+\/news\/3\.html\nhttp:\S+\/news\/4\.html\nAll 5 pages stored/m,
    );
    assert.match(part('It changes'), /\$ lccscan --limit=10\n<\?lcc .*\?>\n<\?lcc end\?>/);
    const owner = part('An owner');
    assert.match(owner, /^ *PID +TRUTH +P +R +C +S .*\n +7 +\d\d +0\.71 +0\.78 +1 +1 +0 +4 +4 +1 +0 /m);
    assert.match(owner, /<url curl="\S+\/tea\.html" mimetype="text\/html" code="616">/);
    assert.match(
      owner,
      /^truthfulness: \d\d of 100; .* of 4 audited 1 changed or went without being announced/m,
    );
    assert.match(part('Done'), /All 4 pages stored equal their source/);
    assert.deepEqual(readdirSync(home.temporary), []);
  });

  it('ends its servers on SIGINT', async () => {
    const child = home.start('crawl');
    child.stderr.resume();
    await untilPrinted(child, '$ echo http');
    const exited = once(child, 'exit');
    child.kill('SIGINT');
    assert.deepEqual(await exited, [128 + constants.signals.SIGINT, null]);
    assert.deepEqual(readdirSync(home.temporary), []);
  });
});
