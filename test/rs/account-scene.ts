/** A Registration Server, and the Queue Manager's operations on a database of its own, in this process; the UNS is its password check. */
import assert from 'node:assert/strict';
import type { SettingKey } from '../../src/config/settings/index.js';
import { hashPassword, passwordMatches } from '../../src/lib/password.js';
import type { RsOperations } from '../../src/qm/rs-operations.js';
import { Account } from '../../src/rs/account.js';
import { RsRequestRefused } from '../../src/rs/refusal.js';
import type { IssuedPair } from '../../src/rs/registrar.js';
import type { ProviderReport } from '../../src/wire/cp-uns/client.js';
import { rsOperationsOf } from '../qm/rs-bench.js';
import { Bench } from '../qm/support.js';
import { RsScene } from './support.js';

export const NETWORK = '192.0.2.0/24';
export const PASSWORD = 'first';
const ADDRESS = '192.0.2.1';

/** What a UNS says of a provider that has sent a set. */
export const EMPTY_REPORT: ProviderReport = {
  seq: 1,
  numbering: undefined,
  lastIp: '',
  isNew: false,
  mimes: [],
  files: { used: 0, free: 0 },
  space: { used: 0, free: 0 },
  fullset: { allowed: 3, wanted: false, reason: undefined },
  errors: 0,
  processing: 0,
};

export class AccountScene {
  readonly rs: RsScene;
  readonly qm = new Bench();
  readonly operations: RsOperations;
  readonly account: Account;
  /** The Queue Manager answers. */
  isThere = true;

  private constructor(rs: RsScene) {
    this.rs = rs;
    this.qm.db.pragma('synchronous = OFF');
    // As in life, both have about the same time.
    this.qm.clock.advance(Date.now() - this.qm.clock.nowMs());
    this.operations = rsOperationsOf(this.qm);
    rs.ask = question => {
      const answer = this.isThere ? this.operations.answer({ id: undefined, question }) : undefined;
      return answer !== undefined && 'ok' in answer ? answer.ok : undefined;
    };
    rs.afterApplied = () => queueMicrotask(() => this.deliver());
    const { db, options, registrar, clock } = rs;
    this.account = new Account({
      db,
      options,
      registrar,
      room: rs.room,
      door: this.door,
      ask: question => Promise.resolve(rs.ask(question)),
      clock,
      applied: () => rs.afterApplied(),
      patienceMs: 1,
    });
  }

  static async start(
    overrides: Partial<Record<SettingKey, string | string[]>> = {},
    bound?: Parameters<typeof RsScene.start>[1],
  ): Promise<AccountScene> {
    const settings = { 'rs.mode': 'open', 'rs.check_interval_ms': '0', ...overrides };
    return new AccountScene(await RsScene.start(settings, bound));
  }

  /** The UNS. */
  readonly door = {
    look: async (pid: string, password: string) => {
      const { enabled } = await this.door.isRight(pid, password);
      if (!enabled) throw new RsRequestRefused(401, 'login', 'no', 'check both');
      const used = Number(this.value('filesused', Number(pid)));
      return { report: { ...EMPTY_REPORT, files: { used, free: 0 } }, errors: [] };
    },
    isRight: (pid: string, password: string) =>
      passwordMatches(password, this.value('password', Number(pid))?.toString())
        ? Promise.resolve({ enabled: this.value('enabled', Number(pid)) === 1 })
        : Promise.reject(new RsRequestRefused(401, 'login', 'no', 'check both')),
  };

  value(column: string, pid: number): unknown {
    return this.qm.value(`SELECT ${column} FROM pidb WHERE pid = ${pid}`);
  }

  roots(pid: number): string[] {
    return this.qm
      .all<{ root: string }>(`SELECT root FROM proots WHERE pid = ${pid} ORDER BY root`)
      .map(row => row.root);
  }

  isPassword(pid: number, password: string): boolean {
    return passwordMatches(password, String(this.value('password', pid)));
  }

  /** What waits in the outbox gets its answers. */
  deliver(): void {
    if (!this.isThere) return;
    for (const operation of this.rs.db.outbox.waiting(100)) {
      const { id, change } = operation;
      const answer = this.operations.answer({ id, change });
      if ('later' in answer) continue;
      this.rs.transitions.settle(operation, answer, 100_000);
      this.account.settled(operation, answer);
    }
  }

  /** A provider of this site that registered; its password is `PASSWORD`. @returns its number */
  async register(path: string): Promise<number> {
    const pair = this.rs.issue(path);
    await this.prove(pair);
    assert.equal(this.rs.standing(pair).state, 'active');
    const { pid } = pair.registration;
    this.qm.db.prepare('UPDATE pidb SET password = ? WHERE pid = ?').run(hashPassword(PASSWORD), pid);
    return pid;
  }

  /** Puts the file of a pair in place, and says so. */
  async prove(pair: IssuedPair): Promise<void> {
    this.rs.place(pair);
    await this.rs.registrar.check(pair.capability);
    this.deliver();
  }

  confirmed(urls: number, password = PASSWORD) {
    return { password, urls, address: ADDRESS };
  }

  close(): void {
    assert.deepEqual(this.rs.failures, []);
    this.rs.close();
    this.qm.close();
  }
}
