/** Peers of the Queue Manager that do not say who they are, through the whole of it. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { afterEach, test } from 'node:test';
import { fileIdOf } from '../../src/db/names/naming.js';
import type { FetchRequest, FetchResult } from '../../src/wire/fetch.js';
import { ok, url } from './support.js';
import { Whole } from './whole.js';

let qm: Whole | undefined;
afterEach(async () => {
  await qm?.close();
  qm = undefined;
});

const stored = (request: FetchRequest): FetchResult => ({
  ...ok(request.url),
  id: request.id,
  fileId: fileIdOf({ id: request.id, gen: 0 }),
});

/** What one that sends only comments is told before it is cut off. */
function answerTo(path: string): Promise<string> {
  const socket = connect(path);
  const block = '<!-- x -->\n'.repeat(1000);
  let said = '';
  socket.on('error', () => undefined);
  socket.setEncoding('utf8').on('data', (text: string) => void (said += text));
  const write = () => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('connect', write).on('drain', write);
  return new Promise(resolve => void socket.once('close', () => resolve(said)));
}

for (const [kept, limit] of [
  [{}, '128 KB'],
  [{ 'wire.max_hello_bytes': '8KB' }, '8 KB'],
] as const)
  test(`a crowd of UNSes and Bot Managers that send no message is refused after ${limit}, and a set is fetched meanwhile`, async () => {
    const whole = new Whole();
    qm = whole;
    await whole.start(kept);
    const crowd = [whole.unsPath, whole.bmPath].flatMap(path =>
      Array.from({ length: 30 }, () => answerTo(path)),
    );
    whole.bm(4, stored);
    await whole.send(7, [url('a')]);
    await whole.until(() => Number(whole.value('SELECT filesused FROM pidb WHERE pid = 7')) === 1);
    for (const answer of await Promise.all(crowd))
      assert.match(answer, new RegExp(`code="106">.*no message in ${limit} \\(wire\\.max_hello_bytes\\)`));
  });
