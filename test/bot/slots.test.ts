import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FetchEngine } from '../../src/fetch/engine.js';
import type { FileOwner } from '../../src/bot/store-files.js';
import { Robot } from '../../src/bot/robot.js';
import { silentLog } from '../../src/lib/log.js';
import { ManualClock } from '../support/manual-clock.js';
import { channelOptions, ends, settle } from '../support/duplex.js';

test('a robot never says that more is being fetched than it has slots: what is being written is counted apart', async () => {
  const begun: FileOwner[] = [];
  const fetch: FetchEngine['fetch'] = (_job, _sink, events) => {
    begun.push(events as unknown as FileOwner);
    return { cancel: () => undefined };
  };
  const engine = { fetch, close: () => undefined, idleConnections: 0 } as Partial<FetchEngine> as FetchEngine;
  const robot = new Robot({
    engine,
    slots: 2,
    maxWaiting: 100,
    channel: channelOptions(),
    clock: new ManualClock(),
    log: silentLog,
  });
  const { ours, theirs } = ends();
  robot.serve(ours, 'person', 'person');
  for (const id of [1, 2, 3, 4, 5]) theirs.write(`<fetch id="${id}" url="http://h/${id}" file="/x/${id}"/>`);
  await settle();
  const counts = () => {
    const { fetching, storing, waiting, idle } = robot.status();
    return { fetching, storing, waiting, idle };
  };
  assert.deepEqual(counts(), { fetching: 2, storing: 0, waiting: 3, idle: false });
  for (const ahead of begun.slice(0, 2)) ahead.received();
  assert.deepEqual(counts(), { fetching: 2, storing: 2, waiting: 1, idle: false });
  for (const ahead of begun.slice(2)) ahead.received();
  begun.at(-1)?.received();
  assert.deepEqual(counts(), { fetching: 0, storing: 5, waiting: 0, idle: false });
});
