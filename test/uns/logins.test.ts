import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Provider } from '../../src/db/providers/pidb.js';
import type { PidbReader } from '../../src/db/providers/pidb-reader.js';
import type { SessionStore } from '../../src/db/spools/sessions.js';
import { silentLog } from '../../src/lib/log.js';
import { hashPassword } from '../../src/lib/password.js';
import type { SpoolIntake } from '../../src/uns/spool-intake.js';
import { Logins } from '../../src/uns/logins.js';
import type { UnsOptions } from '../../src/uns/options.js';
import type { Rations } from '../../src/uns/full-sets-allowed.js';
import { ManualClock } from '../support/manual-clock.js';

test('a CP is told that there is no room only where there is none, and that others write where they do', async () => {
  const password = hashPassword('word');
  const told = async (code: string): Promise<unknown> => {
    const commit = () => {
      throw Object.assign(new Error(code), { code });
    };
    const logins = new Logins({ limits: { 'uns.login_timeout_ms': 10_000 } } as unknown as UnsOptions, {
      pidb: {
        provider: () => ({ pid: 7, enabled: true, password }) as Provider,
        isMoving: () => false,
      } as unknown as PidbReader,
      sessions: { commit } as unknown as SessionStore,
      intake: { demandRoom: () => undefined } as unknown as SpoolIntake,
      rations: {} as Rations,
      clock: new ManualClock(),
      log: silentLog,
      fail: assert.ifError,
    });
    const credentials = { id: '7', password: 'word', address: '192.0.2.7' };
    return logins.admit(
      credentials,
      () => undefined,
      () => Promise.resolve(),
    );
  };
  await assert.rejects(told('SQLITE_FULL'), { code: 102, message: 'no room on disk, try again later' });
  await assert.rejects(told('SQLITE_BUSY'), { code: 102, message: 'too busy, try again later' });
});
