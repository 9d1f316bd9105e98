import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after, beforeEach, describe, it } from 'node:test';
import { Conversation } from '../../src/lib/conversation.js';
import { LccError } from '../../src/lib/errors.js';
import { FairShare, STRANGER_SLICE_BYTES } from '../../src/lib/fair-share.js';
import { ManualClock } from '../support/manual-clock.js';
import { flooded, STRANGER_BYTES } from '../support/flood.js';
import { until } from '../support/until.js';

const server = createServer();
after(() => server.close());

/** The peer's end, and what it has heard. */
let peer: Socket;
let heard: string[];
let talk: Conversation;
let clock: ManualClock;
/** What was handed to the socket, call by call. */
let writes: string[];

beforeEach(async () => {
  if (!server.listening) await once(server.listen(0, '127.0.0.1'), 'listening');
  const connected = once(server, 'connection') as Promise<[Socket]>;
  peer = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const texts: string[] = (heard = []);
  peer.setEncoding('utf8').on('data', (text: string) => void texts.push(text));
  const [socket] = await connected;
  writes = [];
  const write = socket.write.bind(socket);
  socket.write = (text: string, ...rest: []) => {
    writes.push(text);
    return write(text, ...rest);
  };
  clock = new ManualClock();
  talk = new Conversation(socket, 'peer', clock);
});

describe('what is said to a peer', () => {
  it('goes out together when the peer is waited for', async () => {
    peer.write('first');
    assert.equal(String(await talk.next()), 'first');
    talk.say('one ');
    talk.say('two');
    assert.deepEqual([writes, talk.waitingBytes], [[], 7]);
    const next = talk.next();
    assert.deepEqual(writes, ['one two']);
    peer.write('second');
    assert.equal(String(await next), 'second');
    talk.destroy();
  });

  it('goes out before anybody waits for more than may be waiting', async () => {
    talk.say('äöü');
    await talk.said(6);
    assert.deepEqual(writes, []);
    await talk.said(5);
    assert.deepEqual(writes, ['äöü']);
    talk.destroy();
  });

  it('goes out at the end, in good order or not', async () => {
    talk.say('last word');
    const closed = once(peer, 'close');
    const finished = talk.finish({ reading: new FairShare().join() });
    await closed;
    assert.equal(await finished, true);
    assert.equal(heard.join(''), 'last word');
  });

  it('goes out also where nobody waits for the end', async () => {
    talk.say('go away');
    talk.destroy();
    await once(peer, 'close');
    assert.equal(heard.join(''), 'go away');
  });
});

describe('a wait', () => {
  const why = new LccError('limit', 'enough');

  it('is over when what it is for is there, and as soon as it is interrupted', async () => {
    let count = 0;
    const counted = talk.until(() => count === 2);
    for (; count < 2; count++) talk.stir();
    talk.stir();
    await counted;
    const waits = [talk.next(), talk.rest(1000), talk.until(() => false)];
    talk.interrupt(why);
    for (const wait of waits) await assert.rejects(wait, why);
    await assert.rejects(talk.write('more'), why);
    talk.destroy();
  });

  it('has its own limit, the conversation another, of which the last counts', async () => {
    const late = assert.rejects(
      talk.until(
        () => false,
        1000,
        () => why,
      ),
      why,
    );
    clock.advance(1000);
    await late;
    talk.calm();
    talk.limit(1000, () => assert.fail('it was replaced'));
    talk.limit(2000, () => why);
    const next = assert.rejects(talk.next(), why);
    clock.advance(2000);
    await next;
    talk.calm();
    talk.limit(1000, () => why);
    talk.unlimited();
    clock.advance(1000);
    talk.check();
    talk.destroy();
  });

  it('is interrupted although the peer goes on and on', async () => {
    peer.on('error', () => undefined).write(Buffer.alloc(256 * 1024));
    const reading = new FairShare().join();
    assert.ok(((await talk.next(reading)) ?? '').length > 0);
    talk.interrupt(why);
    await assert.rejects(talk.next(reading), why);
    talk.destroy();
  });

  it('ends with the connection', async () => {
    const waits = [talk.next(), talk.rest(1000), talk.until(() => false)];
    peer.resetAndDestroy();
    for (const wait of waits)
      await assert.rejects(wait, { code: 'peer.unavailable', message: /^peer: connection broken/ });
    assert.ok(talk.isOver);
  });
});

describe('one who asks', () => {
  it('hears at once what comes, and loses a peer that ends', async () => {
    const answers: string[] = [];
    talk.listen(
      chunk => {
        if (String(chunk) === 'nonsense') throw new LccError('peer.protocol', 'what?');
        answers.push(String(chunk));
      },
      error => new LccError('peer.unavailable', error === undefined ? 'it hangs up' : 'it breaks'),
    );
    peer.write('one');
    await talk.until(() => answers.length === 1);
    peer.end('two');
    await talk.until(() => answers.length === 2);
    await assert.rejects(
      talk.until(() => false),
      { message: 'it hangs up' },
    );
    talk.destroy();
  });

  it('is interrupted by what makes no sense', async () => {
    talk.listen(
      () => {
        throw new LccError('peer.protocol', 'what?');
      },
      () => assert.fail('it has not ended'),
    );
    peer.write('nonsense');
    await assert.rejects(
      talk.until(() => false),
      { code: 'peer.protocol', message: 'what?' },
    );
    talk.destroy();
  });
});

describe('the end', () => {
  it('waits for the peer to go, as long as the limit allows', async () => {
    talk.say('last word');
    talk.limit(100, () => new LccError('limit', 'stays'));
    peer.allowHalfOpen = true;
    const finished = talk.finish();
    await once(peer, 'end');
    clock.advance(100);
    assert.equal(await finished, false);
    assert.equal(heard.join(''), 'last word');
  });

  it('is a parting after an interruption, too: the last word is heard, and the peer may stay so long', async () => {
    talk.interrupt(new LccError('limit', 'enough'));
    talk.say('last word');
    peer.allowHalfOpen = true;
    const parted = talk.part(100);
    await once(peer, 'end');
    clock.advance(100);
    assert.equal(await parted, false);
    assert.equal(heard.join(''), 'last word');
  });

  it('leaves with the system what a stranger sends beyond what is passed over', async () => {
    talk.destroy();
    const maxBytes = 172 * 1024;
    const { readBytes } = await flooded(socket => {
      const stranger = new Conversation(socket, 'stranger', clock);
      void stranger.finish({ reading: new FairShare().join(), maxBytes });
    });
    assert.ok(readBytes > maxBytes && readBytes <= STRANGER_BYTES, String(readBytes));
  });

  it('passes over so much of what the peer still says', async () => {
    const maxBytes = 64 * 1024;
    const finished = talk.finish({ reading: new FairShare().join(), maxBytes });
    peer.on('error', () => undefined);
    const write = () => {
      while (!peer.destroyed && peer.write(Buffer.alloc(10_000)));
    };
    peer.allowHalfOpen = true;
    peer.on('drain', write);
    write();
    assert.equal(await finished, false);
    const moreBytes = talk.heardBytes - maxBytes;
    assert.ok(moreBytes > 0 && moreBytes <= STRANGER_SLICE_BYTES, String(talk.heardBytes));
  });

  it('can be known to be received by a peer that has said its last word before', async () => {
    peer.allowHalfOpen = true;
    peer.end('question');
    assert.equal(String(await talk.next()), 'question');
    assert.equal(await talk.next(), undefined);
    talk.say('answer');
    const finished = talk.finish({ isCertain: true });
    await until('a timer is set', () => clock.nextMs() !== undefined);
    clock.advance(100);
    assert.equal(await finished, true);
    assert.equal(heard.join(''), 'answer\n');
  });
});
