/** The Spider as a Bot Manager of an LCC: the README's pipeline, and every daemon real. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openForReading } from '../../src/lib/sqlite-read.js';
import { EXIT } from '../../src/lib/errors.js';
import { statusOf, type Daemon } from '../support/daemon.js';
import { Lcc } from '../support/lcc.js';
import { TestSite } from '../support/site.js';
import { until } from '../support/until.js';

const PAGES = 40;

const md5Of = (path: string) => createHash('md5').update(readFileSync(path)).digest('hex');

describe('an LCC whose Bot Manager is lccurld', () => {
  let site: TestSite;
  let lcc: Lcc;
  const asked: string[] = [];
  const daemons: Record<string, Daemon> = {};

  const docs = () => join(lcc.dir, 'site');
  const pathOf = (url: string) => join(docs(), decodeURIComponent(url));
  /** 1: an error of an earlier fetch was reported. */
  const pipeline = async (status: number) => {
    const ran = await lcc.sh(
      `file2url --docroot=site --find site -type f | lcccpstate --statefile=state.txt |
        lcccp --uns=${lcc.uns} --pid=1 --urlprefix=${lcc.root}`,
    );
    assert.equal(ran.status, status, ran.stderr);
    return ran.stdout;
  };
  /** Rows of the LCC, each compared with the file of the site. */
  const rows = async () => {
    const lines = (await lcc.run('lccq --format=jsonl')).split('\n').filter(line => line.startsWith('{'));
    return lines.flatMap(line => {
      const { curl, md5, file, mimetype } = JSON.parse(line) as Record<string, string>;
      if (curl === undefined || file === undefined) return [];
      const name = curl.replace(lcc.root, '/');
      const found = md5Of(file);
      assert.equal(found, md5, curl);
      assert.equal(found, md5Of(pathOf(name)), curl);
      return [[name, mimetype]];
    });
  };
  const start = (name: string, ...args: string[]) => {
    const daemon = lcc.startDaemon(name, ...args);
    daemons[name] = daemon;
    return daemon.ready;
  };
  const startSpider = () =>
    start(
      'lccspider',
      `--urlserver=127.0.0.1:${daemons['lccurld']?.port}`,
      `--store=127.0.0.1:${daemons['lccstored']?.port}`,
      '-c',
      '8',
      '--allow-address=127.0.0.0/8',
    );

  before(async () => {
    site = await TestSite.listen((request, response) => {
      asked.push(request.url ?? '');
      const path = pathOf(request.url ?? '');
      if (!statSync(path, { throwIfNoEntry: false })?.isFile()) return void response.writeHead(404).end();
      response.writeHead(200, { 'content-type': 'text/html' }).end(readFileSync(path));
    });
    lcc = new Lcc(`${site.url}/`, '[spider]\nper_host = 8\n');
    mkdirSync(join(docs(), 'sub'), { recursive: true });
    for (let n = 1; n <= PAGES; n++)
      writeFileSync(join(docs(), `p${n}.html`), `<p>page ${n}</p>\n`.repeat(n));
    writeFileSync(join(docs(), 'sub/with blank & \u00fc.html'), 'odd name');
    writeFileSync(join(docs(), 'empty.txt'), '');
    writeFileSync(
      join(docs(), 'bytes.png'),
      Buffer.from(Array.from({ length: 100_000 }, (_, i) => (i * i) % 256)),
    );
    await lcc.addProvider();
    const [uns, bm] = [`unix:${lcc.home}/run/qm-uns.sock`, `unix:${lcc.home}/run/qm-bm.sock`];
    await start('lccd-qm', `--listen-uns=${uns}`, `--listen-bm=${bm}`);
    await start('lccd-uns', `--listen=${lcc.uns}`, `--qm=${uns}`);
    await start('lccstored', '--listen=127.0.0.1:0', `--dir=${lcc.dir}/stored`);
    await start('lccurld', '--listen=127.0.0.1:0', `--qm=${bm}`, `--store=${lcc.dir}/stored`);
    await startSpider();
  });
  after(async () => {
    await lcc.remove();
    site.close();
  });

  it('has as many slots as spiders have room', async () => {
    await until('the Queue Manager knows of eight slots', async () =>
      JSON.stringify(await statusOf(lcc.home, 'lccd-qm')).includes('"slots":8'),
    );
  });

  it('holds what the site has, with the content that spiders brought', async () => {
    await pipeline(EXIT.ok);
    await lcc.idle();
    const held = await rows();
    assert.equal(held.length, PAGES + 3);
    assert.deepEqual(
      held.find(([name]) => name?.startsWith('/sub/')),
      ['/sub/with%20blank%20&%20%C3%BC.html', 'text/html'],
    );
    assert.equal(asked.length, PAGES + 3, 'each was asked for once');
    assert.equal((await statusOf(lcc.home, 'lccurld'))['done'], PAGES + 3);
  });

  it('follows what changes, comes and goes, and reports what cannot be fetched', async () => {
    writeFileSync(join(docs(), 'p1.html'), 'changed, and longer than it was');
    writeFileSync(join(docs(), 'new.html'), 'new');
    rmSync(join(docs(), 'p2.html'));
    await pipeline(EXIT.ok);
    await lcc.announce([`<url curl="missing.html" mimetype="text/html"/>`]);
    await lcc.idle();
    const names = (await rows()).map(([name]) => name);
    assert.equal(names.length, PAGES + 3);
    assert.ok(names.includes('/new.html') && !names.includes('/p2.html'));
  });

  it('keeps the number of each url', () => {
    const db = openForReading(join(lcc.home, 'spider/urls.db'), 1000);
    const numbers = db.prepare('SELECT doc_id, urlkey FROM doc_map ORDER BY doc_id').all() as {
      doc_id: number;
      urlkey: string;
    }[];
    db.close();
    assert.equal(numbers.length, PAGES + 5);
    assert.equal(new Set(numbers.map(({ urlkey }) => urlkey)).size, numbers.length);
  });

  it('loses nothing when URL server, spider and store server are killed on the way', async () => {
    for (let n = 1; n <= PAGES; n++) writeFileSync(join(docs(), `p${n}.html`), `<p>second version ${n}</p>`);
    const before = asked.length;
    const delivered = pipeline(EXIT.someRejected);
    for (const name of ['lccspider', 'lccstored', 'lccurld']) {
      const wanted = asked.length + 4;
      await until('some are fetched', () => asked.length >= wanted || asked.length >= before + PAGES);
      await daemons[name]?.stop('SIGKILL');
      const port = daemons[name]?.port;
      if (name === 'lccstored') await start(name, `--listen=127.0.0.1:${port}`, `--dir=${lcc.dir}/stored`);
      else if (name === 'lccurld')
        await start(
          name,
          `--listen=127.0.0.1:${port}`,
          `--qm=unix:${lcc.home}/run/qm-bm.sock`,
          `--store=${lcc.dir}/stored`,
        );
      else await startSpider();
    }
    assert.match(await delivered, /missing\.html" .*code="404"/);
    await lcc.idle();
    await lcc.look();
    await lcc.idle();
    assert.deepEqual([...lcc.reported], []);
    assert.equal((await rows()).length, PAGES + 4);
  });

  it('ends in good order', async () => {
    for (const name of ['lccurld', 'lccspider', 'lccstored']) assert.equal(await daemons[name]?.stop(), 0);
  });
});
