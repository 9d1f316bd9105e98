import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { runCommand } from '../support/command.js';
import { longIt } from '../support/long.js';
import { FakeSpider, failureBytes, recordBytes, StoreHome } from '../support/store-server.js';
import { until } from '../support/until.js';

const homes: StoreHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

async function started(args: readonly string[] = [], toml = ''): Promise<StoreHome> {
  const home = new StoreHome();
  homes.push(home);
  if (toml !== '') home.configure(toml);
  await home.start(args);
  return home;
}

const LONG = 600_000;

describe('lccstored', () => {
  for (const compress of ['none', 'gzip'])
    it(`keeps documents of every size, and acknowledges in order (--compress=${compress})`, async () => {
      const home = await started([`--compress=${compress}`]);
      const sizes = [0, 1, 100, 65_535, 65_536, 262_144, 262_145, LONG, 3];
      const docs = sizes.map(size => randomBytes(size));
      const records = docs.map((doc, i) =>
        recordBytes({ docId: i, doc, newUrl: i === 2 ? 'http://new.example/' : '' }),
      );
      const spider = home.spider();
      await spider.send(...records);
      assert.ok(await spider.acked(records.length));
      assert.equal(spider.hello, 'LCCACK1\n');
      assert.deepEqual(
        await spider.end(),
        sizes.map((_, i) => i),
      );
      assert.deepEqual(
        [...home.documents()],
        docs.map((doc, i) => [i, doc]),
      );
      const row = home.rows()[2];
      assert.equal(row?.new_url, 'http://new.example/');
      assert.equal(row?.path?.endsWith(compress === 'gzip' ? '.gz' : '.rec'), true);
      assert.deepEqual(home.drafts(), []);
      const status = await home.status();
      assert.equal(status['records_kept'], sizes.length);
      assert.equal(status['idle'], true);
      assert.equal(await home.daemon.stop(), 0);
    });

  it('has the last record of a document, and a good document in spite of failures', async () => {
    const home = await started();
    await home.keep(recordBytes({ docId: 1, doc: 'first' }), recordBytes({ docId: 1, doc: 'second' }));
    await home.keep(failureBytes(1), failureBytes(2), failureBytes(3, { doc: 'page of an error' }));
    await home.keep(failureBytes(1, { doc: 'page of an error' }), failureBytes(3, { doc: 'another' }));
    const [one, two, three] = home.rows();
    assert.equal(home.document(one)?.toString(), 'second');
    assert.deepEqual([one?.success, one?.reason, one?.http, one?.is_good], [0, 10, 44, 1]);
    assert.equal(home.document(two), undefined);
    assert.equal(home.document(three)?.toString(), 'another');
    assert.equal(three?.is_good, 0);
    await home.keep(recordBytes({ docId: 3, doc: 'good' }), recordBytes({ docId: 1, reason: 'empty' }));
    const [again, , good] = home.rows();
    assert.equal(home.document(again)?.length, 0);
    assert.equal(home.document(good)?.toString(), 'good');
  });

  it('changes nothing for a record that is sent again', async () => {
    const home = await started();
    const records = [
      recordBytes({ docId: 1, doc: 'short' }),
      recordBytes({ docId: 2, doc: randomBytes(LONG) }),
      failureBytes(3),
      failureBytes(4, { doc: 'page of an error' }),
    ];
    await home.keep(...records);
    const before = [home.rows(), home.files()];
    assert.deepEqual(await home.keep(...records, ...records), [1, 2, 3, 4, 1, 2, 3, 4]);
    assert.deepEqual([home.rows(), home.files()], before);
    assert.equal((await home.status())['rows_written'], 4);
    assert.deepEqual(home.drafts(), []);
  });

  it('closes a damaged stream at its first bad byte, which it logs, and nothing else', async () => {
    const home = await started();
    const other = home.spider();
    await other.send(recordBytes({ docId: 10, doc: 'x' }).subarray(0, 30));
    const good = recordBytes({ docId: 1, doc: 'whole' });
    const spider = home.spider();
    const bad = recordBytes({ docId: 2, doc: 'y' });
    bad[7] = 1;
    await spider.send(good, bad, good);
    await spider.over;
    assert.deepEqual(spider.acks, [1]);
    assert.match(
      home.daemon.log,
      new RegExp(`"stream damaged, connection closed".*"offset":${good.length + 7},`),
    );
    await other.send(recordBytes({ docId: 10, doc: 'x' }).subarray(30));
    assert.deepEqual(await other.end(), [10]);
    assert.deepEqual([...home.documents().keys()], [1, 10]);
    assert.equal((await home.status())['streams_damaged'], 1);
  });

  it('drops what has begun when a connection ends inside of a record, short or long', async () => {
    const home = await started();
    const long = recordBytes({ docId: 3, doc: randomBytes(LONG) });
    for (const part of [recordBytes({ docId: 2, doc: 'abc' }).subarray(0, -1), long.subarray(0, LONG / 2)])
      assert.deepEqual(await home.keep(recordBytes({ docId: 1, doc: 'whole' }), part), [1]);
    assert.deepEqual([...home.documents().keys()], [1]);
    assert.deepEqual(home.drafts(), []);
    assert.equal((await home.status())['records_cut'], 2);
    await home.daemon.logged('"spider gone"', 2);
    // Each connection began with a record that was whole.
    assert.equal(home.daemon.log.split('"spider connected","peer":"127.0.0.1:').length, 3);
    assert.match(home.daemon.log, /"spider gone","peer":"127\.0\.0\.1:\d+","records":1/);
  });

  it('refuses a document beyond --max-doc, naming the setting', async () => {
    const home = await started(['--max-doc=1000']);
    const spider = home.spider();
    await spider.send(
      recordBytes({ docId: 1, doc: randomBytes(1000) }),
      recordBytes({ docId: 2, doc: randomBytes(1001) }),
    );
    await spider.over;
    assert.deepEqual(spider.acks, [1]);
    assert.match(home.daemon.log, /spider\.store_max_doc_bytes/);
  });

  it('cuts a connection that is silent inside of a record, and none that is silent between two', async () => {
    const home = await started([], '[spider]\nstore_stall_timeout_ms = 50\n');
    const patient = home.spider();
    await patient.send(recordBytes({ docId: 1, doc: 'x' }));
    await patient.acked(1);
    const silent = home.spider();
    await silent.send(recordBytes({ docId: 2, doc: 'x' }).subarray(0, 25));
    await silent.over;
    assert.match(home.daemon.log, /silent inside of a record: the limit is .*spider\.store_stall_timeout_ms/);
    assert.deepEqual(await patient.end(), [1]);
  });

  longIt('serves a spider that reads nothing: acknowledgements are dropped, records are not', async () => {
    const home = await started([], '[spider]\nstore_max_ack_bytes = "4KB"\n');
    await home.daemon.stop();
    // The system holds less for the reader of a Unix socket.
    const path = join(home.dir, 'spiders.sock');
    await home.start([`--listen=unix:${path}`]);
    const spider = new FakeSpider(path, false);
    const failures = Buffer.concat(Array.from({ length: 20_000 }, (_, i) => failureBytes(i)));
    for (let round = 0; round < 10; round++) await spider.send(failures);
    await home.untilStatus('some are dropped', status => Number(status['acks_dropped']) > 0);
    await home.untilStatus('all are kept', status => status['records_kept'] === 200_000);
    spider.socket.destroy();
    assert.equal(home.rows().length, 20_000);
  });

  it('has places for 256 spiders; one more is not taken for acknowledged', async () => {
    const home = await started();
    const first = home.spider();
    await first.send(recordBytes({ docId: 1 }));
    await first.acked(1);
    const others = Array.from({ length: 255 }, () => home.spider());
    await home.untilStatus('all have places', ({ connections }) => connections === 256);
    const second = home.spider();
    await second.over;
    assert.equal(second.hello, 'LCCACK1\n');
    assert.deepEqual(second.acks, []);
    assert.match(home.daemon.log, /connections refused.*the limit is 256/);
    for (const { socket } of others) socket.destroy();
  });

  it('keeps what is whole and drops what is not when it is told to stop', async () => {
    const home = await started();
    const spider = home.spider();
    const long = recordBytes({ docId: 9, doc: randomBytes(LONG) });
    await spider.send(recordBytes({ docId: 1, doc: 'whole' }), long.subarray(0, LONG - 10));
    await spider.acked(1);
    assert.equal(await home.daemon.stop(), 0);
    await spider.over;
    assert.deepEqual([...home.documents().keys()], [1]);
    assert.deepEqual(home.drafts(), []);
  });

  it('takes twice the room of what it holds at most, soon after documents were replaced', async () => {
    const home = await started();
    const docs = Array.from({ length: 100 }, () => randomBytes(2000));
    await home.keep(...docs.map((doc, docId) => recordBytes({ docId, doc })));
    await home.keep(recordBytes({ docId: 200, doc: randomBytes(LONG) }));
    const changed = docs.map((doc, i) => (i % 10 === 5 ? doc : randomBytes(100)));
    await home.keep(
      ...changed.flatMap((doc, docId) => (docId % 10 === 5 ? [] : [recordBytes({ docId, doc })])),
    );
    await home.keep(recordBytes({ docId: 200, doc: 'short' }));
    // A file may go between the two looks at it.
    const bytesOf = (file: string) => statSync(join(home.store, file), { throwIfNoEntry: false })?.size ?? 0;
    const takenBytes = () => home.files().reduce((sum, file) => sum + bytesOf(file), 0);
    const heldBytes = home.rows().reduce((sum, { bytes }) => sum + bytes, 0);
    await until('what is not needed is gone', () => takenBytes() <= 2 * heldBytes);
    const documents = home.documents();
    for (const [docId, doc] of changed.entries()) assert.ok(documents.get(docId)?.equals(doc), String(docId));
    assert.equal(documents.get(200)?.toString(), 'short');
  });

  it('goes on in a store that is not compressed, and compresses what comes and what is moved', async () => {
    const home = await started();
    const docs = Array.from({ length: 10 }, (_, i) => Buffer.alloc(3000, i));
    await home.keep(Buffer.concat(docs.map((doc, docId) => recordBytes({ docId, doc }))));
    await home.daemon.stop();
    await home.start(['--compress=gzip']);
    // Not the first record, which is alone in its file.
    await home.keep(...docs.flatMap((_, docId) => (docId === 5 ? [] : [recordBytes({ docId, doc: 'new' })])));
    await until('all is compressed', () => home.files().every(file => file.endsWith('.rec.gz')));
    assert.ok(
      home
        .documents()
        .get(5)
        ?.equals(docs[5] ?? Buffer.alloc(0)),
    );
  });

  it('removes at its start drafts, which were never acknowledged', async () => {
    const home = await started();
    await home.keep(recordBytes({ docId: 1, doc: 'kept' }));
    await home.daemon.stop();
    const [file = ''] = home.files();
    writeFileSync(join(home.store, 'tmp/7'), 'part');
    writeFileSync(join(home.store, 'docs/000000/000000077.rec'), 'named');
    await home.start();
    // What has the name of a file is read, and what cannot be read of it stays.
    assert.deepEqual([home.drafts(), home.files()], [[], [file, 'docs/000000/000000077.rec']]);
    assert.match(home.daemon.log, /"a file of records is damaged: .*000000077\.rec/);
    await home.keep(recordBytes({ docId: 2, doc: 'more' }));
    assert.equal(home.documents().size, 2);
  });

  it('refuses to start with a store that another has, with a damaged database, without an endpoint', async () => {
    const home = await started();
    const second = home.begin();
    assert.equal(await second.ended, 69);
    assert.match(second.log, /lock: held by lccstored \(process \d+\); stop that one first/);
    home.daemons.pop();
    await home.daemon.stop();
    writeFileSync(
      join(home.store, 'store.db'),
      'no database, but long enough to be taken for one'.repeat(100),
    );
    const damaged = home.begin();
    assert.equal(await damaged.ended, 65);
    assert.match(damaged.log, /store\.db: database damaged .*move store\.db and store\.db-wal away/);
    const { status, stderr } = runCommand(home.dir, 'lccstored', []);
    assert.equal(status, 64);
    assert.match(stderr, /--listen=ENDPOINT is missing/);
    appendFileSync(join(home.dir, 'lcc.toml'), '[spider]\nstore_compress = "zip"\n');
    assert.equal(runCommand(home.dir, 'lccstored', ['--listen=0']).status, 78);
  });

  it('is the same again when its files are sent to an empty one, in their order', async () => {
    const home = await started();
    await home.keep(
      ...Array.from({ length: 50 }, (_, i) => recordBytes({ docId: i % 20, doc: randomBytes(i * 7000) })),
    );
    assert.equal(await home.daemon.stop(), 0);
    const before = home.documents();
    const stream = Buffer.concat(home.files().map(file => readFileSync(join(home.store, file))));
    const other = await started();
    await other.keep(stream);
    assert.deepEqual(
      [...other.documents()],
      [...before].filter(([, doc]) => doc.length > 0),
    );
  });
});
