import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { describe, it } from 'node:test';
import {
  FairShare,
  READ_AHEAD_BYTES,
  STRANGER_SLICE_BYTES,
  type PeerReading,
} from '../../src/lib/fair-share.js';

const CHUNK = Buffer.alloc(64 * 1024);
const SLICES = CHUNK.length / STRANGER_SLICE_BYTES;

const turn = () => new Promise<void>(resolve => void setImmediate(resolve));

/** Reads chunks without end, and notes each slice under its name until told to stop. */
function endless(reading: PeerReading, name: string, slices: string[]): { stop(): void } {
  let isOver = false;
  const stream = new Readable({
    read() {
      this.push(CHUNK);
    },
  });
  const read = async (): Promise<void> => {
    for (;;) {
      if (isOver) return;
      const { length } = reading.take(stream) ?? '';
      await reading.turn(length);
      if (length > 0) slices.push(length >= CHUNK.length ? name.toUpperCase() : name);
    }
  };
  void read();
  return { stop: () => void (isOver = true) };
}

describe('a share of the reading', () => {
  it('is a whole chunk a turn for who is known, and a slice for a stranger', async () => {
    const share = new FairShare();
    const [known, stranger] = [share.join(), share.join()];
    known.known();
    const slices: string[] = [];
    const readers = [endless(known, 'k', slices), endless(stranger, 's', slices)];
    for (let turns = 0; turns < 10; turns++) await turn();
    for (const reader of readers) reader.stop();
    const of = (name: string) => slices.filter(slice => slice === name).length;
    assert.ok(of('K') >= 9 && of('K') <= 11, slices.join(' '));
    assert.ok(of('s') >= 9 && of('s') <= 11, slices.join(' '));
  });

  it('of a crowd of strangers is small beside one who is known', async () => {
    const share = new FairShare();
    const known = share.join();
    known.known();
    const slices: string[] = [];
    const readers = Array.from({ length: 100 }, () => endless(share.join(), 's', slices));
    readers.push(endless(known, 'k', slices));
    for (let turns = 0; turns < 50; turns++) await turn();
    for (const reader of readers) reader.stop();
    const ofKnown = slices.filter(slice => slice === 'K').length;
    assert.ok(ofKnown >= 49, `${ofKnown} turns of 50`);
    // All of them together read an eighth of what it reads.
    assert.ok(slices.length - ofKnown <= (ofKnown + 1) * (SLICES / 8), `${slices.length - ofKnown} slices`);
  });

  it('goes round among strangers: none reads twice before all have read once', async () => {
    const share = new FairShare();
    const slices: string[] = [];
    const names = Array.from({ length: 100 }, (_, i) => `s${i}`);
    const readers = names.map(name => endless(share.join(), name, slices));
    while (slices.length < 200) await turn();
    for (const reader of readers) reader.stop();
    assert.deepEqual(slices.slice(0, 100), names);
    assert.deepEqual(slices.slice(100, 200), names);
  });

  it('comes to a newcomer before strangers that have read already', async () => {
    const share = new FairShare();
    const slices: string[] = [];
    const readers = Array.from({ length: 1000 }, () => endless(share.join(), 's', slices));
    while (slices.length < 1000) await turn();
    const before = slices.length;
    readers.push(endless(share.join(), 'new', slices));
    await turn();
    await turn();
    for (const reader of readers) reader.stop();
    assert.ok(slices.indexOf('new') - before <= SLICES, `after ${slices.indexOf('new') - before} slices`);
  });

  it('grows to the whole chunk in the middle of it, once the stranger is known', () => {
    const reading = new FairShare().join();
    const stream = new Readable({ read() {} });
    stream.push(CHUNK);
    assert.equal(reading.take(stream)?.length, STRANGER_SLICE_BYTES);
    reading.known();
    assert.equal(reading.take(stream)?.length, CHUNK.length - STRANGER_SLICE_BYTES);
  });

  it('leaves with the peer what a stranger sends, but for a read and what is read ahead', async () => {
    let sentBytes = 0;
    const stream = new Readable({
      highWaterMark: READ_AHEAD_BYTES,
      read() {
        sentBytes += CHUNK.length;
        setImmediate(() => this.push(CHUNK));
      },
    });
    const reading = new FairShare().join();
    for (let bytes = 0; bytes < 4 * CHUNK.length; await turn()) {
      const slice = reading.take(stream);
      bytes += slice?.length ?? 0;
      assert.ok((slice?.length ?? 0) <= STRANGER_SLICE_BYTES);
      const heldBytes = sentBytes - bytes;
      assert.ok(heldBytes < READ_AHEAD_BYTES + CHUNK.length, `${heldBytes} bytes`);
    }
    reading.known();
    assert.ok((reading.take(stream)?.length ?? 0) > STRANGER_SLICE_BYTES);
  });
});
