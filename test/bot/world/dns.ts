/** A name server for tests, as malicious as its table: over UDP, and TCP for what does not fit. */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Addresses, or `cname:NAME` in front of them; a failure; or no answer at all. */
export type Zone = (name: string, nth: number) => readonly string[] | 'nxdomain' | 'servfail' | 'silence';

const MAX_UDP_BYTES = 512;
const TYPE = { a: 1, cname: 5, aaaa: 28 };

/** Answers on 127.0.0.1:53; `nth` counts the questions of a name for IPv4 addresses, from 1. */
export async function serveNames(zone: Zone): Promise<void> {
  const asked = new Map<string, number>();
  const answer = (query: Buffer, maxBytes: number): Buffer | undefined => {
    const { name, type, end } = questionOf(query);
    const nth = (asked.get(name) ?? 0) + (type === TYPE.a ? 1 : 0);
    asked.set(name, nth);
    const found = zone(name, Math.max(1, nth));
    if (found === 'silence') return undefined;
    const code = found === 'nxdomain' ? 3 : found === 'servfail' ? 2 : 0;
    const records = typeof found === 'string' ? [] : recordsOf(found, type);
    const reply = Buffer.concat([query.subarray(0, end), ...records]);
    const isCut = reply.length > maxBytes;
    reply.writeUInt16BE(0x8180 | code | (isCut ? 0x0200 : 0), 2);
    reply.writeUInt16BE(1, 4);
    reply.writeUInt16BE(isCut ? 0 : records.length, 6);
    reply.fill(0, 8, 12);
    return isCut ? reply.subarray(0, end) : reply;
  };
  const udp = createSocket('udp4', (query, from) => {
    const reply = answer(query, MAX_UDP_BYTES);
    if (reply !== undefined) udp.send(reply, from.port, from.address);
  });
  await new Promise<void>(resolve => void udp.bind(53, '127.0.0.1', resolve));
  const tcp = createServer(socket => {
    socket.on('error', () => undefined);
    let received = Buffer.alloc(0);
    socket.on('data', chunk => {
      received = Buffer.concat([received, chunk]);
      while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
        const end = 2 + received.readUInt16BE(0);
        const reply = answer(Buffer.from(received.subarray(2, end)), 65_535);
        received = received.subarray(end);
        if (reply === undefined) continue;
        const length = Buffer.alloc(2);
        length.writeUInt16BE(reply.length);
        socket.write(Buffer.concat([length, reply]));
      }
    });
  });
  await new Promise<void>(resolve => void tcp.listen(53, '127.0.0.1', resolve));
}

/** The question of a query, and where it ends. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

function recordsOf(found: readonly string[], type: number): Buffer[] {
  const [first = ''] = found;
  const alias = first.startsWith('cname:') ? nameOf(first.slice(6)) : undefined;
  // The addresses of an alias are those of the other name.
  const owner = alias ?? Buffer.from([0xc0, 12]);
  const addresses = found
    .filter(text => !text.startsWith('cname:') && text.includes(':') === (type === TYPE.aaaa))
    .map(text => record(owner, type, addressOf(text)));
  return alias === undefined ? addresses : [record(Buffer.from([0xc0, 12]), TYPE.cname, alias), ...addresses];
}

function record(owner: Buffer, type: number, data: Buffer): Buffer {
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(1, 2);
  fixed.writeUInt16BE(data.length, 8);
  return Buffer.concat([owner, fixed, data]);
}

function nameOf(name: string): Buffer {
  const labels = name.split('.').map(label => Buffer.from(`${String.fromCharCode(label.length)}${label}`));
  return Buffer.concat([...labels, Buffer.from([0])]);
}

function addressOf(text: string): Buffer {
  if (!text.includes(':')) return Buffer.from(text.split('.').map(Number));
  const [before = '', after] = text.split('::');
  const groups = (part: string) => part.split(':').filter(group => group !== '');
  const [head, tail] = [groups(before), groups(after ?? '')];
  const zeros = Array.from({ length: 8 - head.length - tail.length }, () => '0');
  const bytes = Buffer.alloc(16);
  [...head, ...zeros, ...tail].forEach((group, i) => bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * i));
  return bytes;
}
