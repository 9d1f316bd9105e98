/** Every command once, as a process, at the job it is there for, in one LCC; what each promises besides is tested in test/commands. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { runAsProcesses } from './support/command.js';
import { type Lcc, startLcc } from './support/lcc.js';
import { TestSite } from './support/site.js';
import { commandNames } from './support/tree.js';

runAsProcesses();
const site = await TestSite.listen();
let lcc: Lcc;

before(async () => {
  site.pages.set('/a.html', '<p>one</p>').set('/b.html', '<p>two</p>');
  lcc = await startLcc(
    `${site.url}/`,
    `[clear]
enabled = true
[rs]
listen = ["127.0.0.1:0"]
url = "http://127.0.0.1/"
ports = ["${new URL(site.url).port}"]
`,
  );
  mkdirSync(join(lcc.dir, 'docs'));
  for (const [path, page] of site.pages) writeFileSync(join(lcc.dir, 'docs', path), page);
  lcc.env['PIPE'] =
    `file2url --docroot=docs --find docs -type f | lcccpstate -q --statefile=state` +
    ` | lcccp -q --uns=${lcc.uns} --pid=1 --urlprefix=${site.url}/`;
});
after(async () => {
  await lcc.remove();
  site.close();
});

/** Command → what one run of it does. The daemons below lccd are asked for their own status. */
const WORKS: Readonly<Record<string, () => Promise<void>>> = {
  async file2url() {
    assert.match(
      await lcc.run('file2url --docroot=docs -- docs/a.html'),
      /<url curl="a.html" mimetype="text\/html"/,
    );
  },
  async sitemap2url() {
    writeFileSync(join(lcc.dir, 'sitemap.txt'), `${site.url}/a.html\n`);
    assert.match(await lcc.run('sitemap2url sitemap.txt'), /\/a\.html" mimetype="\*\/\*"\/>\n<\?lcc end\?>/);
  },
  async feed2url() {
    const item = { id: '1', url: `${site.url}/a.html` };
    const feed = { version: 'https://jsonfeed.org/version/1.1', title: 't', items: [item] };
    writeFileSync(join(lcc.dir, 'feed.json'), JSON.stringify(feed));
    assert.match(await lcc.run('feed2url <feed.json'), /^<\?lcc .* set="partial"\?>\n<url curl=.* entry="/);
  },
  async lcccpstate() {
    const { stderr } = await lcc.sh(
      'file2url --docroot=docs -- docs/a.html | lcccpstate --statefile=other >all.xml',
    );
    assert.match(stderr, /1 new, 0 changed, 0 deleted/);
  },
  async lcccp() {
    await lcc.run('eval "$PIPE"');
    await lcc.idle();
  },
  async lccq() {
    assert.equal(await lcc.run('lccq --format=urls | sort'), `${site.url}/a.html\n${site.url}/b.html\n`);
  },
  async lcchook() {
    const bodies: string[] = [];
    const receiver = await TestSite.listen((request, response) => {
      void text(request).then(body => response.end(String(bodies.push(body))));
    });
    await lcc.run('umask 077; lcchook --new-secret >whsec');
    await lcc.run(
      `lccq --stay --cursor=hook.cursor --batch=10 --format=jsonl -- lcchook --url=${receiver.url}/` +
        ' --secretfile=whsec --allow-address=127.0.0.1',
    );
    receiver.close();
    assert.match(bodies.join(''), /^\{"type":"lcc.changes",.*\/a\.html/);
  },
  async 'lccq-resolve'() {
    assert.match(await lcc.run('lccq --format=paths | lccq-resolve | sort'), /a\.html[\s\S]*b\.html/);
  },
  async lccpidb() {
    assert.match(await lcc.run('lccpidb show --pid=1'), new RegExp(site.url));
  },
  async lcclinks() {
    const { status, stderr } = await lcc.sh(`echo ${site.url}/a.html | lcclinks --seeds`);
    assert.equal(status, 1, stderr);
    assert.match(stderr, /a\.html/);
  },
  async lccscan() {
    assert.match(await lcc.run('lccscan'), /<\?lcc from="lccscan" set="partial"\?>\n<\?lcc end\?>/);
  },
  async lccstat() {
    assert.match(await lcc.run('lccstat'), /idle/);
  },
  async lccctl() {
    await lcc.run('lccctl pause --pid=1 && lccctl resume --pid=1');
  },
  async lccd() {
    assert.match(lcc.log, /"daemon":"lccd","event":"ready"/);
  },
  'lccd-uns': () => statusOf('lccd-uns'),
  'lccd-qm': () => statusOf('lccd-qm'),
  'lccd-bm': () => statusOf('lccd-bm'),
  'lccd-cu': async () => {
    const { stderr, status } = await lcc.sh(`lccd-cu --listen=unix:${lcc.dir}/cu.sock & cu=$!
      until [ -S cu.sock ] || ! kill -0 $cu; do sleep 0.05; done; kill -TERM $cu; wait $cu`);
    assert.equal(status, 0, stderr);
  },
  async lccbot() {
    const line = `<fetch id="1" url="${site.url}/a.html" file="${lcc.dir}/got"/>`;
    assert.match(
      await lcc.run(`echo '${line}' | lccbot --stdio --allow-address=127.0.0.1`),
      /id="1"[^>]*len="10"/,
    );
  },
  async lccrail() {
    await lcc.run('lccrail target add www && lccrail map add www --type=@url --path=/');
    assert.match(await lcc.run('lccrail status'), /path of @url on www: \/ID/);
  },
  async lccclear() {
    // A target without rails: there is nothing to wait for.
    await lcc.run('lccclear --target=www --wait=60 /a.html');
  },
  async lccclearq() {
    assert.match(await lcc.run('lccclearq'), /^pending 0\n/);
  },
  'lccd-rs': () => statusOf('lccd-rs'),
  async lccregister() {
    const { port = '' } =
      /"daemon":"lccd-rs","event":"listening","endpoint":"127\.0\.0\.1:(?<port>\d+)"/.exec(lcc.log)?.groups ??
      {};
    const begun = await lcc.sh(
      `lccregister new --server=http://127.0.0.1:${port}/ --url=${site.url}/ --pwdfile=password`,
    );
    assert.equal(begun.status, 66, begun.stderr);
    assert.match(begun.stdout, /^printf .* > lcc-[0-9a-f]+\.txt\n$/);
  },
  async lccrs() {
    assert.match(await lcc.run('lccrs list'), /^1 +issued +100000 /);
  },
  async lccstored() {
    await lcc.startDaemon('lccstored', `--listen=unix:${lcc.dir}/records.sock`, `--dir=${lcc.dir}/records`)
      .ready;
  },
  async lccspider() {
    const ends = [`--urlserver=unix:${lcc.dir}/urls.sock`, `--store=unix:${lcc.dir}/records.sock`];
    await lcc.startDaemon('lccspider', ...ends, '--allow-private').ready;
  },
  async lccurld() {
    writeFileSync(join(lcc.dir, 'urls'), `${site.url}/a.html\n`);
    await lcc.run('lccurld -q --listen=unix:urls.sock --file=urls');
  },
  async lccrec() {
    assert.match(await lcc.run('lccrec --store=records'), /"url":"[^"]*\/a\.html"/);
  },
  // This LCC has no engine: what both do with one is shown by commands/lccd-keep and fe/.
  'lccd-keep': () => withoutEngine('lccd-keep'),
  lcckeep: () => withoutEngine('lcckeep status'),
  'lccd-fe': () => withoutEngine('lccd-fe --listen=127.0.0.1:0'),
  lccmap: () => withoutEngine('lccmap list'),
  'lccd-hard': () => statusOf('lccd-hard'),
  'lccd-soft': () => statusOf('lccd-soft'),
  async lccfsck() {
    await lcc.stop();
    await lcc.run('lccfsck');
  },
};

async function withoutEngine(command: string): Promise<void> {
  const { status, stderr } = await lcc.sh(command);
  assert.equal(status, 78, stderr);
  assert.match(stderr, /store\.url is not set/);
}

async function statusOf(daemon: string): Promise<void> {
  const socket = createConnection(join(lcc.home, 'run', `${daemon}.ctl.sock`));
  socket.end('status\n');
  assert.equal(typeof JSON.parse(await text(socket)), 'object');
}

describe('each command does its job', () => {
  it('is the promise for every command that there is', () => {
    assert.deepEqual(Object.keys(WORKS).sort(), [...commandNames()].sort());
  });
  for (const [name, work] of Object.entries(WORKS)) it(name, work);
});
