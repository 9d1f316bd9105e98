/** lccstored under kills, random streams and a full disk: what it acknowledged is there, whole, and nothing else is in part. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { BadRecord, RecordReader } from '../../src/wire/spider-record.js';
import { Disk, noDisk } from '../support/disk.js';
import { damaged, dice, randomRecord } from '../support/record-streams.js';
import { recordBytes, StoreHome } from '../support/store-server.js';

const KILLS = Number(process.env['LCC_TEST_KILLS'] ?? 4);
const STREAMS = Number(process.env['LCC_TEST_STREAMS'] ?? 400);
const DOCUMENTS = Number(process.env['LCC_TEST_DOCUMENTS'] ?? 300);
/** Connections at a time. */
const SPIDERS = 4;
const MAX_BYTES = 5 * 1024 * 1024;

const homes: StoreHome[] = [];
after(() => Promise.all(homes.map(home => home.end())));

function newHome(store?: string): StoreHome {
  const home = new StoreHome(store);
  homes.push(home);
  return home;
}

/** A document that is the same for the same id, of any size up to 5 MB: as many between 1 and 2 KB as between 1 and 2 MB. */
function documentOf(docId: number): Buffer {
  const roll = dice(`document ${docId}`);
  const size = roll(20) === 0 ? 0 : Math.floor(MAX_BYTES ** (roll(100_000) / 100_000));
  const unit = Buffer.concat(
    Array.from({ length: 64 }, (_, i) => createHash('md5').update(`${docId} ${i}`).digest()),
  );
  const document = Buffer.alloc(size, unit);
  if (size > 0) document.writeUInt8(docId & 0xff, size - 1);
  return document;
}

/** What is wrong with a store, of what was acknowledged. */
function missingOf(home: StoreHome, acknowledged: Iterable<number>): number[] {
  const rows = new Map(home.rows().map(row => [row.doc_id, row]));
  return [...acknowledged].filter(docId => !home.document(rows.get(docId))?.equals(documentOf(docId)));
}

describe('lccstored', () => {
  for (const compress of ['none', 'gzip'])
    it(`has ${DOCUMENTS} documents of 0 bytes to 5 MB byte by byte as they were sent (${compress})`, async () => {
      const home = newHome();
      await home.start([`--compress=${compress}`]);
      const ids = Array.from({ length: DOCUMENTS }, (_, i) => i);
      await Promise.all(
        Array.from({ length: SPIDERS }, async (_, n) => {
          const spider = home.spider();
          for (const docId of ids.filter(id => id % SPIDERS === n))
            await spider.send(recordBytes({ docId, doc: documentOf(docId) }));
          assert.deepEqual(
            await spider.end(),
            ids.filter(id => id % SPIDERS === n),
          );
        }),
      );
      assert.deepEqual(missingOf(home, ids), []);
      await home.end();
    });

  it(`loses nothing that it acknowledged in ${KILLS} kills under load`, async () => {
    const home = newHome();
    await home.start();
    const roll = dice('kills');
    const acknowledged = new Set<number>();
    let nextId = 0;
    let restarted: Promise<unknown> = Promise.resolve();
    /** Sends what is not acknowledged again and again, as a spider does, until all is. */
    const work = async (isOver: () => boolean) => {
      let unconfirmed: number[] = [];
      while (!isOver() || unconfirmed.length > 0) {
        while (unconfirmed.length < 10 && !isOver()) unconfirmed.push(nextId++);
        await restarted;
        const spider = home.spider();
        const sending = unconfirmed;
        await spider.send(...sending.map(docId => recordBytes({ docId, doc: documentOf(docId) })));
        await spider.acked(sending.length);
        spider.socket.destroy();
        await spider.over;
        assert.deepEqual(spider.acks, sending.slice(0, spider.acks.length));
        for (const docId of spider.acks) acknowledged.add(docId);
        unconfirmed = sending.slice(spider.acks.length);
      }
    };
    let kills = 0;
    const killing = (async () => {
      while (kills < KILLS) {
        const { daemon } = home;
        const files = 1 + roll(30);
        await home.untilStatus('it works', status => Number(status['files_made']) >= files);
        restarted = (async () => {
          await daemon.stop('SIGKILL');
          await home.start();
        })();
        await restarted;
        assert.deepEqual(missingOf(home, acknowledged), []);
        kills++;
      }
    })();
    await Promise.all([killing, ...Array.from({ length: SPIDERS }, () => work(() => kills >= KILLS))]);
    assert.equal(acknowledged.size, nextId);
    assert.deepEqual(missingOf(home, acknowledged), []);
    assert.deepEqual(home.drafts(), []);
    await home.end();
  });

  it(`keeps of ${STREAMS} random streams what is whole before their first bad byte, and nothing else`, async () => {
    const maxDoc = 3000;
    const home = newHome();
    await home.start([`--max-doc=${maxDoc}`]);
    const roll = dice('streams');
    let nextId = 0;
    const wanted = new Map<number, FoundRecord>();
    const sendOne = async () => {
      const count = 1 + roll(6);
      const whole = Array.from({ length: count }, () => randomRecord(roll, nextId++, maxDoc));
      const stream = streamOf(Buffer.concat(whole), roll);
      const { found, isBad } = wholeRecords(stream, maxDoc);
      const spider = home.spider();
      for (let at = 0; at < stream.length;) {
        const size = 1 + roll(stream.length);
        await spider.send(stream.subarray(at, at + size));
        at += size;
      }
      const acks = await spider.end();
      // A reset may overtake acknowledgements of a stream that goes on after its bad byte.
      const ids = found.map(({ docId }) => docId);
      assert.deepEqual(acks, isBad ? ids.slice(0, acks.length) : ids);
      // An id may be damaged into another's.
      for (const record of found)
        if (record.isGood || (record.doc.length > 0 && wanted.get(record.docId)?.isGood !== true))
          wanted.set(record.docId, record);
    };
    for (let n = 0; n < STREAMS; n++) await sendOne();
    await home.untilStatus('all is kept', ({ idle, connections }) => idle === true && connections === 0);
    const documents = home.documents();
    for (const { docId, doc } of wanted.values())
      assert.ok(documents.get(docId)?.equals(doc), `document ${docId}`);
    assert.deepEqual(
      [...documents.keys()].filter(docId => !wanted.has(docId)),
      [],
    );
    assert.deepEqual(home.drafts(), []);
    assert.equal(await home.daemon.stop(), 0);
    await home.end();
  });

  it(
    'keeps spiders waiting while the disk is full, and loses nothing',
    { skip: noDisk('ext4') },
    async () => {
      const disk = new Disk('ext4', 64 * 1024 * 1024);
      const home = newHome(join(disk.path, 'store'));
      try {
        await home.start();
        const doc = (docId: number) => Buffer.alloc(10_000, String(docId));
        await home.keep(recordBytes({ docId: 1, doc: doc(1) }));
        disk.fill();
        const spider = home.spider();
        await spider.send(...[2, 3, 4].map(docId => recordBytes({ docId, doc: doc(docId) })));
        await home.daemon.logged('disk full, records wait');
        // One that is long goes to the disk as it comes.
        const long = home.spider();
        await long.send(recordBytes({ docId: 9, doc: Buffer.alloc(1_000_000) }));
        await long.over;
        assert.deepEqual([long.acks, spider.acks], [[], []]);
        const { disk_trouble: trouble, records_pending: pending } = await home.status();
        assert.match(String(trouble), /ENOSPC|no space|full/);
        assert.equal(pending, 3);
        disk.makeRoom();
        assert.deepEqual(await spider.end(), [2, 3, 4]);
        await home.keep(recordBytes({ docId: 9, doc: Buffer.alloc(1_000_000) }));
        const documents = home.documents();
        assert.deepEqual([...documents.keys()], [1, 2, 3, 4, 9]);
        for (const docId of [1, 2, 3, 4]) assert.ok(documents.get(docId)?.equals(doc(docId)));
        assert.equal((await home.status())['disk_trouble'], null);
        assert.deepEqual(home.drafts(), []);
        assert.equal(await home.daemon.stop(), 0);
      } finally {
        await Promise.all(home.daemons.map(daemon => daemon.stop('SIGKILL')));
        await disk.remove();
      }
    },
  );
});

/** Whole, damaged in some places, continued with garbage, or nothing but that. */
function streamOf(whole: Buffer, roll: (below: number) => number): Buffer {
  const garbage = () => Buffer.from(Array.from({ length: 1 + roll(300) }, () => roll(256)));
  switch (roll(5)) {
    case 0:
      return whole;
    case 1:
      return Buffer.concat([whole, garbage()]);
    case 2:
      return garbage();
    case 3:
      return damaged(whole, roll);
    default:
      return damaged(damaged(whole, roll), roll);
  }
}

interface FoundRecord {
  docId: number;
  doc: Buffer;
  isGood: boolean;
}

/** The records before the first bad byte, as the readers of examples/spider find them too. */
function wholeRecords(stream: Buffer, maxDoc: number): { found: FoundRecord[]; isBad: boolean } {
  const reader = new RecordReader(maxDoc);
  const found: FoundRecord[] = [];
  let begun: FoundRecord | undefined;
  try {
    for (const part of reader.read(stream))
      if (part.kind === 'head')
        begun = { docId: part.record.docId, doc: Buffer.alloc(0), isGood: part.record.success };
      else if (part.kind === 'body' && begun !== undefined)
        begun.doc = Buffer.concat([begun.doc, part.bytes]);
      else if (begun !== undefined) found.push(begun);
    return { found, isBad: false };
  } catch (error) {
    assert.ok(error instanceof BadRecord);
    return { found, isBad: true };
  }
}
