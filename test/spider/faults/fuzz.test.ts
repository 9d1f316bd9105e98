/** Lines that a URL server should not send, by the thousand: one DONE and one record for each that names a transaction and a document. */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { parseServerLine } from '../../../src/wire/spider-lines.js';
import { answer, rawServer } from '../../fetch/support.js';
import { Daemons } from '../../support/daemon.js';
import { endUrlServers, newHome } from '../../support/url-server.js';
import { until } from '../../support/until.js';
import { PlayedStore, PlayedUrlServer } from '../transaction/support.js';

const LINES = Number(process.env['LCC_TEST_LINES'] ?? 10_000);
const SLOTS = 1000;

const daemons = new Daemons();
after(async () => {
  await daemons.end();
  await endUrlServers();
});

/** A good line with some of its bytes changed, left out, doubled; LF would make two of it. */
function spoilt(line: string): string {
  const bytes = Buffer.from(line, 'latin1');
  let text = bytes.toString('latin1');
  for (let changes = randomInt(0, 4); changes > 0; changes--) {
    const at = randomInt(0, text.length + 1);
    const byte = String.fromCharCode(randomInt(0, 256)).replace('\n', '\r');
    const kind = randomInt(0, 6);
    if (kind === 0) text = text.slice(0, at) + byte + text.slice(at + 1);
    else if (kind === 1) text = text.slice(0, at) + byte + text.slice(at);
    else if (kind === 2) text = text.slice(0, at) + text.slice(at + 1);
    else if (kind === 3) text = text.slice(0, at);
    else if (kind === 4) text = text.slice(0, at) + text.slice(at).repeat(2);
    else text = text.slice(0, at) + ' '.repeat(randomInt(1, 3)) + text.slice(at);
  }
  return text;
}

describe('lccspider', () => {
  it('answers every line once, and goes on', async () => {
    const site = await rawServer(socket => void socket.write(answer('page')));
    const [urls, store] = [await PlayedUrlServer.start(), await PlayedStore.start()];
    const home = newHome('max_bad_lines = 1_000_000\n');
    const spider = daemons.start('lccspider', home, [
      `--urlserver=127.0.0.1:${urls.port}`,
      `--store=127.0.0.1:${store.port}`,
      `--slots=${SLOTS}`,
      '--timeout-req=1000',
      '--allow-private',
    ]);
    await urls.credits(SLOTS);
    const names = new Set<string>();
    let errs = 0;
    for (let n = 0; n < LINES; n++) {
      const line = spoilt(`t${n} ${n} 127.0.0.1 localhost http://localhost:${site.port}/${n}`);
      // As the reader takes its end.
      const read = parseServerLine(line.replace(/\r$/, ''));
      const transId = read.kind !== 'err' && 'docId' in read ? read.transId : undefined;
      if (transId === undefined) {
        if (read.kind !== 'err') errs++;
        urls.say(Buffer.from(`${line}\n`, 'latin1'));
        continue;
      }
      if (names.has(transId)) continue;
      names.add(transId);
      await urls.credits(1);
      urls.credit--;
      urls.say(Buffer.from(`${line}\n`, 'latin1'), transId);
    }
    await urls.dones(names.size);
    await until('an ERR for each other line', () => urls.errs.length >= errs);
    assert.equal(urls.connections, 1);
    assert.ok([...urls.done.values()].every(count => count === 1));
    assert.equal(store.records.length, names.size);
    assert.ok(errs > LINES / 20 && names.size > LINES / 3, `${errs} of ${LINES} are no urls`);
    assert.equal(await spider.stop(), 0);
  });
});
