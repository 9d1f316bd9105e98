/** The door of hubs, called by somebody who knows no callback. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { RsDatabase } from '../../src/db/rs/database.js';
import { feedDoor } from '../../src/rs/feeds/door.js';
import { tokenHash } from '../../src/rs/feeds/hub.js';
import { newStanding } from '../../src/rs/feeds/standing.js';
import { ManualClock } from '../support/manual-clock.js';

const QUERY =
  'hub.mode=subscribe&hub.topic=https://www.example.org/feed&hub.challenge=x&hub.lease_seconds=60';

test('a stranger who asks for subscriptions that there are not writes nothing', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'lcc-hub-'));
  const db = RsDatabase.open(join(dir, 'rs.db'));
  try {
    const clock = new ManualClock();
    const { app } = feedDoor({
      db,
      clock,
      polling: { prompt: () => assert.fail('nothing is asked for'), stir: () => undefined },
      refusals: { add: () => undefined },
      key: 'key',
      proxies: [],
      failed: (_path, error) => assert.fail(String(error)),
    });
    const standing = newStanding(['https://www.example.org/']);
    const url = 'https://www.example.org/feed';
    db.write(() => {
      const feed = db.feeds.add(
        { pid: 7, url, host: 'www.example.org', everyMs: 60_000, standing },
        clock.nowMs(),
      );
      db.feeds.expect(tokenHash('known'), feed, clock.nowMs() + 1000, clock.nowMs());
    });
    let commits = 0;
    db.onCommit = () => void commits++;
    assert.equal((await app.request(`/websub/unknown?${QUERY}`)).status, 404);
    assert.equal((await app.request('/websub/unknown', { method: 'POST' })).status, 410);
    assert.equal(commits, 0);
    // Who knows one is heard, and has its answer.
    assert.equal((await app.request(`/websub/known?${QUERY}`)).status, 404);
    assert.equal(commits, 1);
    clock.advance(1000);
    assert.equal((await app.request(`/websub/known?${QUERY}`)).status, 404);
    assert.equal(commits, 1, 'it is over');
  } finally {
    db.close();
    rmSync(dir, { recursive: true });
  }
});
