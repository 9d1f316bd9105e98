import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { ManagerPeer, RobotPeer } from '../../src/wire/bm-bot.js';
import { BotManagerPeer, SourcePeer } from '../../src/wire/qm-bm.js';
import { channelOptions, ends, settle } from '../support/duplex.js';
import { readProjectFile } from '../support/tree.js';

const SIDES = {
  'robot-by-hand': (stream: ReturnType<typeof ends>['ours'], closed: () => void) =>
    new RobotPeer(stream, { hello() {}, fetched() {}, closed }, options()),
  robot: (stream: ReturnType<typeof ends>['ours'], closed: () => void) =>
    new RobotPeer(stream, { hello() {}, fetched() {}, closed }, options()),
  'manager-to-robot': (stream: ReturnType<typeof ends>['ours'], closed: () => void) =>
    new ManagerPeer(stream, { fetch() {}, recall() {}, closed }, options()),
  'source-to-bm': (stream: ReturnType<typeof ends>['ours'], closed: () => void) =>
    new SourcePeer(
      stream,
      { fetch() {}, recall() {}, delete() {}, upkeep() {}, refused() {}, closed },
      options(),
    ),
  'bm-to-source': (stream: ReturnType<typeof ends>['ours'], closed: () => void) =>
    new BotManagerPeer(stream, { hello() {}, fetched() {}, deleted() {}, upkept() {}, closed }, options()),
};
const options = () => ({ ...channelOptions(), helloTimeoutMs: 1000, pingIntervalMs: 1000 });

for (const name of Object.keys(SIDES) as (keyof typeof SIDES)[]) {
  it(`ends the connection and nothing else, whatever becomes of a transcript: ${name}`, async () => {
    const golden = Buffer.from(readProjectFile(`test/wire/golden/${name}.xml`));
    const damage = fc.record({
      at: fc.nat(golden.length),
      cut: fc.nat(20),
      put: fc.oneof(
        fc.uint8Array({ maxLength: 8 }),
        fc
          .constantFrom('<', '>', '"', '&', '/>', '<a>', '</fetched>', '\0', '<!--', '<![CDATA[')
          .map(text => Buffer.from(text)),
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(damage, { minLength: 1, maxLength: 4 }),
        fc.nat(golden.length),
        async (damages, split) => {
          let bytes = golden;
          for (const { at, cut, put } of damages) {
            bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + cut)]);
          }
          const { ours, theirs } = ends();
          let closed = 0;
          theirs.on('end', () => theirs.end());
          SIDES[name](ours, () => closed++);
          theirs.write(bytes.subarray(0, split));
          theirs.end(bytes.subarray(split));
          await settle(10);
          assert.equal(closed, 1);
        },
      ),
      { numRuns: 200 },
    );
  });
}
