/**
 * Urls that somebody has pushed and the UNS does not have yet (docs/design/push.md): a row for each url of a
 * provider, from the transaction that takes it to the one that knows that the UNS has it on its disk, and for
 * a while after it, so that a url is not looked at too often.
 *
 *     waiting ──the UNS has it──▶ sent ──its interval is over──▶ (no row)
 *        ▲ ╰──pushed again──╮       │
 *        ╰──────────────────┴───────╯
 */
import type { PushDoor } from '../../wire/push.js';
import { SqlStore } from '../sqlite/sql-store.js';
import { dayOf, KEPT_DAYS } from '../truth/days.js';

export const PUSH_SCHEMA = `
CREATE TABLE push_waiting(
  pid INTEGER NOT NULL,
  curl TEXT NOT NULL,
  door TEXT NOT NULL,                           -- that it came by last; feed stays while it waits
  due_ms INTEGER NOT NULL,                      -- not sent before
  gen INTEGER NOT NULL DEFAULT 1,               -- raised whenever it is pushed again
  waits INTEGER NOT NULL DEFAULT 1,             -- 0: the UNS has it, and due_ms is the end of its interval
  ifabsent INTEGER NOT NULL DEFAULT 0,          -- 1: looked at only where nothing is held of it
  PRIMARY KEY (pid, curl)
) STRICT, WITHOUT ROWID;
CREATE INDEX push_due ON push_waiting(waits, due_ms);
CREATE INDEX push_time ON push_waiting(due_ms);

-- What came by which door, by day (since 1970).
CREATE TABLE push_day(
  pid INTEGER NOT NULL,                         -- 0: nobody's
  day INTEGER NOT NULL,
  door TEXT NOT NULL,
  sent INTEGER NOT NULL DEFAULT 0,              -- urls, or pings
  refused INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (pid, day, door)
) STRICT, WITHOUT ROWID;

CREATE TABLE push_refusal(
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  pid INTEGER NOT NULL,                         -- 0: nobody's
  at_ms INTEGER NOT NULL,
  door TEXT NOT NULL,
  url TEXT NOT NULL,                            -- the last one
  reason TEXT NOT NULL,
  urls INTEGER NOT NULL,                        -- refused so by this door, all together
  UNIQUE (pid, door, reason)
) STRICT;
CREATE INDEX push_refusal_of ON push_refusal(pid, id);
`;

/** A url to be sent. */
export interface WaitingPush {
  pid: number;
  curl: string;
  door: PushDoor;
  gen: number;
  ifabsent: 0 | 1;
}

export interface PushedDay {
  /** Days since 1970. */
  day: number;
  door: PushDoor;
  sent: number;
  refused: number;
}

export interface PushRefusal {
  atMs: number;
  door: PushDoor;
  url: string;
  reason: string;
  /** Refused so by this door, all together. */
  urls: number;
}

/** Refusals kept of a provider. */
export const MOST_REFUSALS = 100;
/** Urls that wait are counted so far. */
export const MOST_COUNTED = 100_000;
/** Characters of a url, and of a reason, that are kept. */
const MAX_TEXT = 300;

export class PushStore extends SqlStore {
  readonly #offer = this.sql.run<
    [values: { pid: number; door: PushDoor; nowMs: number; ifabsent: 0 | 1; curl: string }]
  >(
    `INSERT INTO push_waiting(pid, curl, door, due_ms, ifabsent) VALUES ($pid, $curl, $door, $nowMs, $ifabsent)
     ON CONFLICT(pid, curl) DO UPDATE SET gen = gen + 1, waits = 1, ifabsent = min(ifabsent, $ifabsent),
       door = iif(waits = 1 AND door = 'feed', door, $door)`,
  );
  readonly #count = this.sql.run<
    [values: { pid: number; day: number; door: PushDoor; sent: number; refused: number }]
  >(
    `INSERT INTO push_day(pid, day, door, sent, refused) VALUES ($pid, $day, $door, $sent, $refused)
     ON CONFLICT(pid, day, door) DO UPDATE SET sent = sent + $sent, refused = refused + $refused`,
  );
  // Equal ones are one, which is then the newest.
  readonly #refuse = this.sql.run<[values: PushRefusal & { pid: number }]>(
    `INSERT OR REPLACE INTO push_refusal(pid, at_ms, door, url, reason, urls) SELECT $pid, $atMs, $door, $url, $reason,
       $urls + coalesce((SELECT urls FROM push_refusal WHERE pid = $pid AND door = $door AND reason = $reason), 0)`,
  );
  readonly #dropOldRefusals = this.sql.run<[values: { pid: number }]>(
    `DELETE FROM push_refusal WHERE pid = $pid AND id <=
       (SELECT id FROM push_refusal WHERE pid = $pid ORDER BY id DESC LIMIT 1 OFFSET ${MOST_REFUSALS})`,
  );
  // One that was pushed meanwhile goes on waiting, for the end of its interval.
  readonly #sent = this.sql.run<[values: { pid: number; curl: string; gen: number; againMs: number }]>(
    'UPDATE push_waiting SET waits = (gen <> $gen), due_ms = $againMs WHERE pid = $pid AND curl = $curl',
  );
  readonly #forget = this.sql.changes<[nowMs: number, limit: number]>(
    `DELETE FROM push_waiting WHERE (pid, curl) IN
       (SELECT pid, curl FROM push_waiting WHERE waits = 0 AND due_ms <= ? LIMIT ?)`,
  );
  readonly #hasten = this.sql.run<[values: { nowMs: number; latestMs: number }]>(
    'UPDATE push_waiting SET due_ms = $nowMs WHERE due_ms > $latestMs',
  );
  readonly #forgetDays = this.sql.run<[day: number]>('DELETE FROM push_day WHERE day <= ?');
  readonly #due = this.sql.rows<[nowMs: number, but: string, limit: number], WaitingPush>(
    `SELECT pid, curl, door, gen, ifabsent FROM push_waiting
     WHERE waits = 1 AND due_ms <= ? AND pid NOT IN (SELECT value FROM json_each(?)) ORDER BY due_ms LIMIT ?`,
  );
  readonly #sentToday = this.sql.number<[pid: number, day: number]>(
    'SELECT total(sent) FROM push_day WHERE pid = ? AND day = ?',
  );

  /** Counts of this process. */
  readonly counted = {
    indexnow: { sent: 0, refused: 0 },
    ping: { sent: 0, refused: 0 },
    feed: { sent: 0, refused: 0 },
  } satisfies Record<PushDoor, { sent: number; refused: number }>;

  // Inside a transaction

  /**
   * Something happened to pages of a provider: each is looked at once, soon, and no sooner than its interval
   * after the last time.
   * @param urls canonical, inside its roots @param which those of which nothing is held alone
   */
  offer(pid: number, door: PushDoor, urls: readonly string[], nowMs: number, which?: 'absent'): void {
    const ifabsent = which === 'absent' ? 1 : 0;
    for (const curl of urls) this.#offer({ pid, curl, door, nowMs, ifabsent });
    this.count(pid, door, 'sent', urls.length, nowMs);
  }

  /** @param pid 0: nobody's */
  count(pid: number, door: PushDoor, what: 'sent' | 'refused', n: number, nowMs: number): void {
    if (n === 0) return;
    this.counted[door][what] += n;
    const none = { sent: 0, refused: 0 };
    this.#count({ pid, day: dayOf(nowMs / 1000), door, ...none, [what]: n });
  }

  /**
   * Something was refused, and is counted so.
   * @param pid undefined: nobody's @param reason without a secret @param n how many urls
   */
  refuse(
    pid: number | undefined,
    door: PushDoor,
    { url, reason }: { url: string; reason: string },
    nowMs: number,
    n = 1,
  ): void {
    const of = pid ?? 0;
    this.count(of, door, 'refused', n, nowMs);
    const text = { url: url.slice(0, MAX_TEXT), reason: reason.slice(0, MAX_TEXT) };
    this.#refuse({ pid: of, atMs: nowMs, door, ...text, urls: n });
    this.#dropOldRefusals({ pid: of });
  }

  /** The UNS has them. @param againMs when each may be sent again */
  sent(pushes: readonly WaitingPush[], againMs: number): void {
    for (const { pid, curl, gen } of pushes) this.#sent({ pid, curl, gen, againMs });
  }

  /**
   * Forgets urls whose interval is over, and counts that are too old.
   * @param latestMs a time after this is of a clock that was ahead @returns how many urls
   */
  forget(nowMs: number, latestMs: number, limit: number): number {
    this.#forgetDays(dayOf(nowMs / 1000) - KEPT_DAYS);
    this.#hasten({ nowMs, latestMs });
    return this.#forget(nowMs, limit);
  }

  // Reading

  /** Those that may be sent, the oldest first. @param but providers that wait */
  due(nowMs: number, limit: number, but: readonly number[] = []): WaitingPush[] {
    return this.#due(nowMs, JSON.stringify(but), limit);
  }

  /** When the first one may be sent; undefined: none waits. */
  readonly nextDueMs = this.sql.value<[], number>('SELECT min(due_ms) FROM push_waiting WHERE waits = 1');

  readonly waiting = this.sql.number(
    `SELECT count(*) FROM (SELECT 1 FROM push_waiting WHERE waits = 1 LIMIT ${MOST_COUNTED})`,
  );

  /** Urls that were taken of a provider on the day of a moment. */
  sentOn(pid: number, atMs: number): number {
    return this.#sentToday(pid, dayOf(atMs / 1000));
  }

  /** The days with any, the newest first. @param pid 0: nobody's */
  readonly days = this.sql.rows<[pid: number, limit: number], PushedDay>(
    'SELECT day, door, sent, refused FROM push_day WHERE pid = ? ORDER BY day DESC, door LIMIT ?',
  );

  /** The last ones, the newest first. @param pid 0: nobody's */
  readonly refusals = this.sql.rows<[pid: number, limit: number], PushRefusal>(
    'SELECT at_ms AS atMs, door, url, reason, urls FROM push_refusal WHERE pid = ? ORDER BY id DESC LIMIT ?',
  );
}
