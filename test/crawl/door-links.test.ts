import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { systemClock } from '../../src/lib/clock.js';
import { doorSink, linkLine } from '../../src/crawl/sinks.js';
import { DoorSets, type DoorSetsOptions } from '../../src/wire/door-sets.js';
import { setAccepted, SET_RESULT_START, setRejected, urlError } from '../../src/wire/cp-uns/server.js';

const LIMITS = { maxTokenBytes: 65_536, maxDepth: 8, maxAttributes: 32, maxNameBytes: 256 };
const ACCEPTED = (received: number) => SET_RESULT_START + setAccepted(received);

/** Links through a door. */
function linksTo(options: DoorSetsOptions) {
  const sets = new DoorSets(options, 'links');
  return { ...doorSink(sets, linkLine), counts: sets.counts, drop: () => sets.drop() };
}
type DoorLinks = ReturnType<typeof linksTo>;

/** A door that answers as it is told, and what it was sent. */
async function withDoor(
  answer: (set: string, number: number, socket: Socket) => string | undefined,
  work: (links: (more?: Partial<DoorSetsOptions>) => DoorLinks, sets: string[]) => Promise<void>,
): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-door-'));
  const path = join(dir, 's');
  const sets: string[] = [];
  const server = createServer(socket => {
    let text = '';
    socket.on('error', () => undefined);
    socket.on('data', chunk => {
      text += chunk.toString();
      for (let end; (end = text.indexOf('</lococa:set>')) >= 0; text = text.slice(end + 14)) {
        sets.push(text.slice(0, end).trim());
        const said = answer(sets.at(-1) ?? '', sets.length, socket);
        if (said !== undefined) socket.write(said);
      }
    });
    socket.on('end', () => socket.end());
  });
  server.listen(path);
  await once(server, 'listening');
  const made: DoorLinks[] = [];
  try {
    await work(more => {
      const options = {
        clock: systemClock,
        limits: LIMITS,
        setUrls: 3,
        setUrlsAll: 5,
        setDelayMs: 60_000,
        maxUnanswered: 2,
        timeoutMs: 5000,
      };
      made.push(linksTo({ door: { kind: 'unix', path }, ...options, ...more }));
      return made.at(-1) as DoorLinks;
    }, sets);
  } finally {
    for (const links of made) links.drop();
    server.close();
    rmSync(dir, { recursive: true });
  }
}

const link = (pid: number, curl: string) => ({ pid, curl: `http://x/${curl}`, furl: undefined, hops: 1 });
const namesIn = (sets: string[]) =>
  sets.map(
    set =>
      `${/pid="(\d+)"/.exec(set)?.[1]}: ${[...set.matchAll(/curl="http:..x.(\w+)"/g)].map(found => found[1]).join('')}`,
  );

describe('links that are delivered', () => {
  it('go as a set when enough of a provider wait, or enough of all, and the rest at the end', async () => {
    await withDoor(
      () => ACCEPTED(1),
      async (doorLinks, sets) => {
        const links = doorLinks();
        for (const [pid, name] of [
          [1, 'a'],
          [1, 'b'],
          [1, 'c'],
          [1, 'd'],
          [2, 'e'],
          [3, 'f'],
          [3, 'g'],
          [2, 'h'],
          [4, 'i'],
        ] as const)
          await links.add(link(pid, name));
        await links.finish();
        assert.deepEqual(namesIn(sets), ['1: abc', '1: d', '2: eh', '3: fg', '4: i']);
        assert.deepEqual(links.counts, { sets: 5, accepted: 5, refused: 0, ownerless: 0 });
        assert.match(
          sets[1] ?? '',
          /^<lococa:set xmlns:lococa="[^"]+" set="partial" pid="1" origin="links">\n<url curl="http:\/\/x\/d" mimetype="\*\/\*" ifabsent="yes" outofroot="drop" hops="1"\/>$/,
        );
      },
    );
  });

  it('go when the first of them has waited long enough, however few they are', async () => {
    let nowMs = 1000;
    await withDoor(
      () => ACCEPTED(1),
      async (doorLinks, sets) => {
        const links = doorLinks({
          clock: { ...systemClock, monotonicMs: () => nowMs },
          setDelayMs: 250,
        });
        await links.add(link(1, 'a'));
        nowMs += 249;
        await links.add(link(2, 'b'));
        assert.equal(links.counts.sets, 0);
        nowMs += 1;
        await links.add(link(2, 'c'));
        assert.equal(links.counts.sets, 2);
        nowMs += 1000;
        await links.add(link(1, 'd'));
        assert.equal(links.counts.sets, 2);
        await links.finish();
        assert.deepEqual(namesIn(sets), ['1: a', '2: bc', '1: d']);
      },
    );
  });

  it('connect to nobody when there are none', async () => {
    const links = linksTo({
      door: { kind: 'unix', path: '/nowhere' },
      clock: systemClock,
      limits: LIMITS,
      setUrls: 1,
      setUrlsAll: 1,
      setDelayMs: 1,
      maxUnanswered: 1,
      timeoutMs: 1,
    });
    await links.finish();
    assert.equal(links.counts.sets, 0);
  });

  it('wait while the door has as many sets as it may without an answer', async () => {
    const held: (() => void)[] = [];
    await withDoor(
      (_set, number, socket) => {
        held.push(() => void socket.write(ACCEPTED(number)));
        if (number === 2) for (const say of held.splice(0)) say();
        return undefined;
      },
      async (doorLinks, sets) => {
        const links = doorLinks({ setUrls: 1 });
        for (const name of ['a', 'b', 'c', 'd']) {
          await links.add(link(1, name));
          assert.ok(sets.length <= 4);
          if (sets.length > 2) for (const say of held.splice(0)) say();
        }
        const finished = links.finish();
        while (links.counts.accepted < 10) {
          for (const say of held.splice(0)) say();
          await new Promise(resolve => void setImmediate(resolve));
        }
        await finished;
        assert.equal(sets.length, 4);
      },
    );
  });

  it('that are refused, or of providers that are gone, are counted; the others go on', async () => {
    await withDoor(
      (_set, number) => {
        if (number === 1) return setRejected(101, 'provider 1 is unknown', false);
        if (number === 2) return setRejected(105, 'not followed', false);
        return `${SET_RESULT_START}${urlError({ curl: 'http://x/f', mimetype: '*/*' }, 304, 'outside')}${setAccepted(2)}`;
      },
      async doorLinks => {
        const links = doorLinks();
        for (const [pid, name] of [
          [1, 'a'],
          [1, 'b'],
          [2, 'c'],
          [3, 'd'],
          [3, 'e'],
          [3, 'f'],
        ] as const)
          await links.add(link(pid, name));
        await links.finish();
        assert.deepEqual(links.counts, { sets: 4, accepted: 4, refused: 2, ownerless: 3 });
      },
    );
  });

  for (const [what, answer, code, said] of [
    [
      'busy',
      () => setRejected(102, 'no room', false),
      'peer.busy',
      /refused a set: no room \(code 102\); run again$/,
    ],
    ['of another protocol', () => setRejected(104, 'no', false), 'peer.protocol', /no \(code 104\)/],
    ['out of order', () => setRejected(201, 'no', false), 'peer.rejected', /no \(code 201\)/],
    ['no XML', () => '<<', 'data.malformed', /unix:/],
    ['saying something else', () => '<hello/>', 'peer.protocol', /<hello> is not expected here/],
    [
      'hanging up',
      (_set: string, _number: number, socket: Socket) => void socket.destroy(),
      'peer.unavailable',
      /closed the connection.*; run again$/,
    ],
    ['silent', () => undefined, 'peer.unavailable', /0.05 s without an answer to a set$/],
  ] as const)
    it(`end with ${code} when the door is ${what}`, async () => {
      await withDoor(answer, async doorLinks => {
        const links = doorLinks(what === 'silent' ? { timeoutMs: 50 } : {});
        await links.add(link(1, 'a'));
        await assert.rejects(links.finish(), { code, message: said });
      });
    });

  it('end with peer.unavailable when nobody is there', async () => {
    await withDoor(
      () => undefined,
      async doorLinks => {
        const links = doorLinks({ door: { kind: 'unix', path: '/nowhere/spider.sock' } });
        await links.add(link(1, 'a'));
        const message =
          'the spider door at unix:/nowhere/spider.sock cannot be reached: there is no such socket; is lccd-uns running?';
        await assert.rejects(links.finish(), { code: 'peer.unavailable', message });
      },
    );
  });
});
