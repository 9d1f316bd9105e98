import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { IMPATIENT, fetchOnce, filesBelow, newEngine, newFolder, rawServer, verdict } from '../support.js';
import { CASES } from './cases.js';

const rejections: unknown[] = [];
process.on('unhandledRejection', reason => rejections.push(reason));

describe('a robot among hostile servers', { concurrency: true }, () => {
  after(() => assert.deepEqual(rejections, [], 'no rejection is left unhandled'));

  for (const { name, serve, expect, onConnect, endless } of CASES) {
    it(`gives one result and leaves nothing behind: ${name}`, async () => {
      const folder = newFolder();
      const server = await rawServer(serve, onConnect && (socket => onConnect(socket, '', 0)));
      const patience = expect === 603 ? IMPATIENT : endless === true ? { totalTimeoutMs: 15_000 } : {};
      const engine = newEngine(patience);
      const outcome = await fetchOnce(engine, { url: server.url, file: join(folder, 'ab/file') });
      assert.equal(verdict(outcome), expect, JSON.stringify(outcome));
      assert.deepEqual(filesBelow(folder), outcome.status === 'ok' ? ['file'] : []);
    });
  }
});
