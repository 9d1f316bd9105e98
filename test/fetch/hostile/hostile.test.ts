import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import {
  IMPATIENT,
  fetchOnce,
  filesBelow,
  MOST_WIRE_BYTES,
  newEngine,
  newFolder,
  PATIENT,
  rawServer,
  verdict,
} from '../support.js';
import { CASES } from './cases.js';

const rejections: unknown[] = [];
process.on('unhandledRejection', reason => rejections.push(reason));

describe('a robot among hostile servers', { concurrency: true }, () => {
  after(() => assert.deepEqual(rejections, [], 'no rejection is left unhandled'));

  for (const { name, serve, expect, orElse, onConnect, reach } of CASES) {
    it(`gives one result and leaves nothing behind: ${name}`, async () => {
      const folder = newFolder();
      const server = await rawServer(serve, onConnect && (socket => onConnect(socket, '', 0)));
      const engine = newEngine(expect === 603 ? IMPATIENT : PATIENT);
      const outcome = await fetchOnce(engine, { url: server.url, file: join(folder, 'ab/file') });
      assert.ok([expect, orElse].includes(verdict(outcome)), JSON.stringify(outcome));
      if (reach !== undefined) assert.equal(outcome.status === 'error' && outcome.reach, reach);
      assert.ok(outcome.wireBytes <= MOST_WIRE_BYTES, `${outcome.wireBytes} bytes were taken`);
      assert.deepEqual(filesBelow(folder), outcome.status === 'ok' ? ['file'] : []);
    });
  }
});
