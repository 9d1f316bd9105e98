import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { LccError } from '../../src/lib/errors.js';
import { FairShare } from '../../src/lib/fair-share.js';
import { MessageChannel, type ChannelHandlers, type ChannelOptions } from '../../src/wire/messages.js';
import { channelOptions, ends, settle } from '../support/duplex.js';
import { flooded, STRANGER_BYTES } from '../support/flood.js';

function open(
  more: { options?: Partial<ChannelOptions>; handlers?: Partial<ChannelHandlers>; reading?: boolean } = {},
) {
  const both = ends(more.reading);
  const messages: string[] = [];
  const closed: (LccError | undefined)[] = [];
  const options = channelOptions(more.options);
  const channel = new MessageChannel(
    both.ours,
    {
      message: (name, attributes, text) =>
        void messages.push(`${name} ${JSON.stringify(attributes)} ${text}`),
      closed: reason => void closed.push(reason),
      ...more.handlers,
    },
    options,
  );
  return { ...both, channel, messages, closed, clock: options.clock };
}

describe('a channel of messages', () => {
  it('reads elements with and without text, whatever stands between them', async () => {
    const { theirs, messages } = open();
    theirs.write(
      '<?xml version="1.0"?>\r\n<a x="1"/><!-- c -->\r\n <lococa:b>t&amp;\nu</lococa:b>\t<c y=\'"\'></c>',
    );
    await settle();
    assert.deepEqual(messages, ['a {"x":"1"} ', 'b {} t&\nu', 'c {"y":"\\""} ']);
  });

  it('reads elements whose prefix is declared for the namespace', async () => {
    const { theirs, messages } = open();
    theirs.write(`<x:a xmlns:x="http://www.lococa.org/1.0"/><y:b xmlns:y="http://www.example.org/"/>`);
    await settle();
    assert.deepEqual(
      messages.map(message => message.split(' ')[0]),
      ['a', 'y:b'],
    );
  });

  it('when prompt, sends what a callback had to say before anybody else has the event loop', async () => {
    const { channel, received } = open({ options: { isPrompt: true } });
    const others = new Promise<string>(resolve => void setImmediate(() => resolve(received())));
    channel.send('<a/>\n');
    channel.send('<b/>\n');
    assert.equal(await others, '<a/>\n<b/>\n');
  });

  it('sends the messages of one turn in one write', async () => {
    const { channel, theirs } = open({ reading: false });
    const sizes: number[] = [];
    theirs.on('data', (chunk: Buffer) => void sizes.push(chunk.length));
    for (let i = 0; i < 100; i++) channel.send('<a/>\n');
    await settle();
    channel.send('<b/>\n');
    await settle();
    assert.deepEqual(sizes, [500, 5]);
  });

  for (const [input, answer] of [
    ['<a x=1/>', /^<lococa:error code="103">peer:1:\d+: /],
    ['\n\n  <a x="&unknown;"/>', /code="103">peer:3:\d+: /],
    ['<a><b/></a>', /code="104">peer: &lt;b&gt; inside &lt;a&gt;: messages do not nest/],
    ['text', /code="103">peer:1:1: /],
    ['<!DOCTYPE a><a/>', /code="103">/],
    [`<a x="${'x'.repeat(2000)}"/>`, /code="106">/],
    [`<a>${'x'.repeat(2000)}</a>`, /code="106">/],
    [Buffer.from('<a x="\u00ff"/>', 'latin1'), /code="103">.*UTF-8/],
    ['<bad/>', /code="104">peer: cannot do that/],
  ] as const) {
    it(`answers and closes: ${JSON.stringify(String(input)).slice(0, 40)}`, async () => {
      const { theirs, closed, received } = open({
        handlers: {
          message(name) {
            if (name === 'bad') throw new LccError('peer.protocol', 'cannot do that');
          },
        },
      });
      theirs.on('end', () => theirs.end());
      theirs.write(input);
      await settle();
      assert.match(received(), answer);
      assert.match(received(), /<\/lococa:error>\n$/);
      assert.equal(closed.length, 1);
      assert.match(closed[0]?.message ?? '', /^peer/);
    });
  }

  it('sends what goes in turn as the peer takes it, however much that is, and other messages in between', async () => {
    const { ours, theirs } = ends(false);
    const closed: (LccError | undefined)[] = [];
    const channel = new MessageChannel(
      ours,
      { message() {}, closed: reason => void closed.push(reason) },
      channelOptions({ maxPendingBytes: 8000 }),
    );
    const part = `<part>${'x'.repeat(900)}</part>\n`;
    channel.sendInTurn(Array.from({ length: 100 }, () => part));
    await settle();
    assert.ok(channel.pendingBytes < 3000, `${channel.pendingBytes} bytes wait at the peer`);
    channel.send('<pong/>\n');
    let received = '';
    theirs.on('data', (chunk: Buffer) => (received += chunk.toString()));
    await settle(1000);
    assert.equal(received.length, 100 * part.length + '<pong/>\n'.length);
    assert.ok(received.replace('<pong/>\n', '') === part.repeat(100), 'in their order');
    assert.ok(received.indexOf('<pong/>') < received.length / 2, 'a pong does not wait for all of it');
    assert.deepEqual(closed, []);
  });

  it('takes no further message once it has refused one', async () => {
    const { theirs, messages } = open();
    theirs.write('<a/><b x=/><c/>');
    theirs.write('<d/>');
    await settle();
    assert.deepEqual(messages, ['a {} ']);
  });

  it('cuts off a peer that goes on sending after it was refused', async () => {
    const { theirs, closed, clock } = open();
    theirs.write('<b x=/>');
    await settle();
    theirs.write('more');
    await settle();
    assert.equal(closed.length, 0, 'it may still be reading the answer');
    clock.advance(2000);
    await settle();
    assert.equal(closed[0]?.code, 'data.malformed');
  });

  it('refuses a stranger after wire.max_hello_bytes without a message, and cuts it off when it goes on', async () => {
    const { ours, theirs, received, closed } = open({ options: { maxHelloBytes: 10_000 } });
    const flood = Buffer.from('<!-- x -->\n'.repeat(100));
    let turns = 0;
    for (; closed.length === 0 && turns < 1000; turns++) {
      theirs.write(flood);
      await settle(1);
    }
    assert.match(received(), /code="106">peer:\d+:\d+: no message in 10000 bytes \(wire\.max_hello_bytes\)/);
    assert.ok(ours.destroyed && turns < 100, `${turns} turns`);
  });

  it('reads 256 KB of a stranger at most that goes on and on', async () => {
    const { said, readBytes } = await flooded(socket => {
      const options = channelOptions({ maxHelloBytes: 128 * 1024 });
      void new MessageChannel(socket, { message: () => undefined, closed: () => undefined }, options);
    });
    assert.match(said, /no message in 128 KB/);
    assert.ok(readBytes <= STRANGER_BYTES, String(readBytes));
  });

  it('reads a stranger in slices, and others in between', async () => {
    const { theirs, messages } = open({ options: { maxHelloBytes: 64 * 1024 } });
    const other = open();
    theirs.write(`${'<!-- x -->\n'.repeat(1000)}<a/><b/>`);
    other.theirs.write('<c/>');
    while (other.messages.length === 0) await settle(1);
    assert.deepEqual(messages, []);
    while (messages.length < 2) await settle(1);
  });

  it('lets who has said something say anything, as slowly as it likes', async () => {
    const { theirs, messages, closed } = open({ options: { maxHelloBytes: 4096 } });
    theirs.write('<a/>');
    for (let i = 0; i < 10; i++) theirs.write('<!-- x -->\n'.repeat(1000));
    theirs.write('<b/>');
    while (messages.length < 2) await settle(1);
    assert.deepEqual(closed, []);
  });

  it('has read all that a stranger said when the end of it comes', async () => {
    const { theirs, messages, closed } = open({ options: { maxHelloBytes: 64 * 1024 } });
    theirs.end(`${'<!-- x -->\n'.repeat(1000)}<a/>`);
    while (closed.length === 0) await settle(1);
    assert.deepEqual([messages, closed], [['a {} '], [undefined]]);
  });

  it('passes on a bug instead of blaming the peer', async () => {
    let known = false;
    const { ours, theirs, received } = open({
      handlers: {
        message() {
          if (known) throw new TypeError('bug');
          known = true;
        },
      },
    });
    theirs.write('<hello/>');
    await settle();
    assert.throws(() => ours.emit('data', Buffer.from('<a/>')), TypeError);
    assert.equal(received(), '');
  });

  it('reports an input that ends inside a message', async () => {
    const { theirs, closed } = open();
    theirs.end('<a>half');
    await settle();
    assert.equal(closed[0]?.code, 'data.cut');
  });

  it('closes without a reason when the peer does in good order', async () => {
    const { theirs, closed } = open();
    theirs.end('<a/>');
    await settle();
    assert.deepEqual(closed, [undefined]);
  });

  it('keeps answering a peer that has only ended its sending side, when asked to', async () => {
    let ended = 0;
    const { theirs, channel, received } = open({ handlers: { ended: () => ended++ } });
    theirs.end('<a/>');
    await settle();
    assert.equal(ended, 1);
    channel.send('<late/>\n');
    channel.end('<last/>\n');
    await settle();
    assert.equal(received(), '<late/>\n<last/>\n');
  });

  it('gives the peer’s error as the reason', async () => {
    const { theirs, closed } = open();
    theirs.write('<lococa:error code="104">no such thing</lococa:error>');
    await settle();
    assert.equal(closed[0]?.code, 'peer.rejected');
    assert.match(closed[0]?.message ?? '', /104 no such thing/);
  });

  it('has read why the peer refuses the link when that ends at once, in good order or not, and others are read first', async () => {
    const cuts = {
      'in good order': ({ theirs }: { theirs: Duplex }) => void theirs.end(),
      'cut off': ({ ours }: { ours: Duplex }) => void ours.destroy(),
      broken: ({ ours }: { ours: Duplex }) =>
        void ours.destroy(Object.assign(new Error('read'), { code: 'ECONNRESET' })),
    };
    for (const [how, cut] of Object.entries(cuts)) {
      const share = new FairShare();
      // Each has a turn of its own, before ours.
      const others = Array.from({ length: 10 }, () => share.join().turn(64 * 1024));
      const { ours, theirs, closed, messages } = open({ options: { share } });
      theirs.write('<lococa:error code="104">no certificate of this LCC</lococa:error>');
      await settle(3);
      assert.equal(closed.length, 0, how);
      cut({ ours, theirs });
      await Promise.all(others);
      await settle();
      assert.deepEqual(
        closed.map(reason => reason?.message),
        ['peer: 104 no certificate of this LCC'],
        how,
      );
      assert.deepEqual(messages, []);
    }
  });

  it('stops reading from a peer that does not read, and goes on when it does', async () => {
    const { channel, theirs, messages } = open({ reading: false });
    channel.send(`<a x="${'y'.repeat(60_000)}"/>\n`);
    await settle();
    theirs.write('<q/>');
    await settle();
    assert.deepEqual(messages, []);
    theirs.resume();
    await settle(200);
    assert.deepEqual(messages, ['q {} ']);
  });

  it('cuts off a peer that leaves its messages unread for too long', async () => {
    const { channel, closed, clock } = open({ reading: false });
    channel.send(`<a x="${'y'.repeat(60_000)}"/>\n`);
    await settle();
    clock.advance(4999);
    await settle();
    assert.equal(closed.length, 0);
    clock.advance(1);
    await settle();
    assert.match(
      closed[0]?.message ?? '',
      /^peer: has not read its messages for 5 s \(wire\.stall_timeout_ms\)$/,
    );
  });

  it('cuts off a peer for which too much waits', async () => {
    const { channel, closed } = open({ reading: false });
    for (let i = 0; i < 11; i++) channel.send(`<a x="${'y'.repeat(10_000)}"/>\n`);
    await settle();
    assert.match(closed[0]?.message ?? '', /over 100000 bytes waiting$/);
    assert.equal(channel.pendingBytes, 0);
  });

  it('takes messages only while it is not held', async () => {
    const { channel, theirs, messages } = open();
    channel.hold(true);
    await settle();
    theirs.write('<a/>');
    await settle();
    assert.deepEqual(messages, []);
    channel.hold(false);
    await settle();
    assert.deepEqual(messages, ['a {} ']);
  });

  it('says why a broken connection broke', async () => {
    const { ours, closed } = open();
    ours.destroy(Object.assign(new Error('read'), { code: 'ECONNRESET' }));
    await settle();
    assert.equal(closed[0]?.message, 'peer: connection broken: ECONNRESET');
  });

  it('says nothing more after it was closed', async () => {
    const { channel, closed, received } = open();
    channel.send('<a/>');
    channel.destroy();
    channel.send('<b/>');
    channel.end('<c/>');
    await settle();
    assert.deepEqual(closed, [undefined]);
    assert.equal(received(), '');
  });

  it('delivers its last words over a real socket although the peer is still sending', async () => {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    const [accepted] = (await once(server, 'connection')) as [Socket];
    const options = channelOptions();
    const closed = new Promise<void>(resolve => {
      void new MessageChannel(accepted, { message() {}, closed: () => resolve() }, options);
    });
    let answer = '';
    client.setEncoding('utf8').on('data', (text: string) => (answer += text));
    client.on('error', () => undefined);
    client.write('<a x=/>' + '<b/>'.repeat(25_000));
    await once(client, 'end');
    client.end();
    await closed;
    server.close();
    assert.match(answer, /code="103"/);
  });
});
