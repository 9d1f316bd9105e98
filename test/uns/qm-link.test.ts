import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { describe, it } from 'node:test';
import { QmLink } from '../../src/uns/qm-link.js';
import { ManualClock } from '../support/manual-clock.js';
import { ends, settle } from '../support/duplex.js';

const XML = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };

const LETTERS = ['a', 'b', 'c'];

function linked() {
  const both = ends(false);
  const clock = new ManualClock();
  const link = new QmLink(both.ours as Socket, { xml: XML, timeoutMs: 1000, clock });
  return { ...both, clock, link };
}

describe('what is sent to the Queue Manager', () => {
  it('may be overwritten once it counts as sent: it has arrived as it was', async () => {
    const { theirs, link } = linked();
    const heard: Buffer[] = [];
    theirs.on('data', (chunk: Buffer) => void heard.push(Buffer.from(chunk)));
    const memory = Buffer.alloc(100_000);
    for (const letter of LETTERS) {
      memory.fill(letter);
      await link.send(memory);
    }
    await settle();
    assert.equal(
      Buffer.concat(heard).toString(),
      LETTERS.map(letter => letter.repeat(memory.length)).join(''),
    );
  });

  it('does not count as sent before the Queue Manager has taken it, and not for ever', async () => {
    const { link, clock } = linked();
    let isSent = false;
    const sent = link.send(Buffer.alloc(1_000_000)).then(() => (isSent = true));
    await settle();
    assert.equal(isSent, false);
    clock.advance(1000);
    await assert.rejects(sent, { code: 'peer.unavailable', message: /takes no more \(uns\.qm_timeout_ms\)/ });
  });
});
