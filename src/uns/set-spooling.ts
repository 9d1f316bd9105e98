/** One set on its way from a CP into the spool: every url judged, the good ones kept as they came, the bad
 * ones named. */
import type { Provider } from '../db/providers/pidb.js';
import type { PidbReader } from '../db/providers/pidb-reader.js';
import { LccError } from '../lib/errors.js';
import type { SpoolEntry } from '../lib/spool-frames.js';
import type { SpoolWriter } from '../lib/spool-writer.js';
import { urlError, type SentUrl } from '../wire/cp-uns/server.js';
import { createUrlChecker, type UrlVerdict } from '../wire/url-check.js';
import { isDelete, type UrlRecord } from '../wire/url.js';
import type { Admission } from './logins.js';
import type { SetStart, SpoolIntake } from './spool-intake.js';
import { limitOf, type UnsOptions } from './options.js';
import { certainlyFits, SetGrowth, overFiles, overSpace } from './quota.js';
import type { Rations } from './full-sets-allowed.js';
import type { SetKind } from '../wire/cp-uns/names.js';
import type { SetOrigin } from '../wire/origin.js';
import { Refusal } from '../wire/refusal.js';

/** Bytes that may wait for the disk before the CP has to. */
const MAX_UNWRITTEN_BYTES = 512 * 1024;
/** Errors of a database that is damaged, or away. */
const UNREADABLE: ReadonlySet<string> = new Set(['data.malformed', 'input.missing']);
/** How often room is looked for while a set is written. */
const ROOM_CHECK_BYTES = 16 * 1024 * 1024;

export class SetSpooling {
  readonly #options: UnsOptions;
  readonly #intake: SpoolIntake;
  readonly #pidb: PidbReader;
  readonly provider: Provider;
  readonly #urlprefix: string;
  readonly #seq: number;
  readonly kind: SetKind;
  readonly #origin: SetOrigin | undefined;
  readonly #check: (record: UrlRecord) => UrlVerdict;
  readonly #writer: SpoolWriter;
  #urls = 0;
  #received = 0;
  #updates = 0;
  #deletes = 0;
  #announcedBytes = 0;
  #readBytes = 0;
  #roomCheckedAt = 0;

  /** @throws Refusal 102, 104 or 201; LccError of the spool */
  constructor(
    options: UnsOptions,
    { intake, rations, pidb }: { intake: SpoolIntake; rations: Rations; pidb: PidbReader },
    admission: Pick<Admission, 'provider' | 'seq' | 'errseen'>,
    start: SetStart,
  ) {
    const { provider, seq, errseen } = admission;
    if (start.set === 'full') rations.demand(provider);
    intake.demandRoom();
    this.#options = options;
    this.#intake = intake;
    this.#pidb = pidb;
    this.#urlprefix = start.urlprefix;
    this.provider = provider;
    this.#seq = seq;
    this.kind = start.set;
    this.#origin = start.origin;
    this.#check = createUrlChecker({
      mimes: options.mimes,
      roots: provider.roots,
      urlprefix: start.urlprefix,
      maxUrlBytes: options.maxUrlBytes,
    });
    this.#writer = intake.begin({ pid: provider.pid, seq, errseen, ...start });
  }

  /** Urls so far, acceptable or not. */
  get urls(): number {
    return this.#urls;
  }

  /** Valid urls so far. */
  get received(): number {
    return this.#received;
  }

  /** Counts what the CP has sent of the set. @throws Refusal 102 or 106 */
  countBytes(bytes: number): void {
    this.#readBytes += bytes;
    if (this.#readBytes > this.#options.limits.maxSetBytes)
      throw new Refusal(
        106,
        `the set is too big: the limit is ${limitOf(this.#options, 'uns.max_set_bytes')}`,
      );
    if (this.#readBytes - this.#roomCheckedAt < ROOM_CHECK_BYTES) return;
    this.#roomCheckedAt = this.#readBytes;
    this.#intake.demandRoom();
  }

  /**
   * Takes the next urls.
   * @returns errors to be told to the CP, '' when there are none
   * @throws Refusal 106, 202 or 203
   */
  take(urls: readonly SentUrl[]): string {
    let errors = '';
    let text = '';
    for (const { record, raw } of urls) {
      const verdict = this.#check(record);
      if (verdict === undefined) {
        text += `${raw}\n`;
        this.#received += 1;
        if (isDelete(record)) {
          this.#deletes += 1;
        } else {
          this.#updates += 1;
          if (record.len !== undefined) this.#announcedBytes += Number(record.len);
        }
      } else if (verdict !== 'drop') {
        errors += urlError(record, verdict.code, verdict.text);
      }
    }
    this.#urls += urls.length;
    if (text !== '') this.#writer.write(text);
    this.#demandWithinLimits();
    return errors;
  }

  /** Resolves when the disk has kept up. @throws LccError `io.full` or `io` */
  async paced(): Promise<void> {
    if (this.#writer.waitingBytes > MAX_UNWRITTEN_BYTES) await this.#writer.drained();
  }

  /**
   * Makes the set durable.
   * @param after the provider's last set in the queue
   * @throws LccError `io.full` or `io`
   */
  commit(after: number): Promise<SpoolEntry> {
    return this.#intake.commit(this.#writer, {
      pid: this.provider.pid,
      seq: this.#seq,
      set: this.kind,
      received: this.#received,
      deletes: this.#deletes,
      after,
      origin: this.#origin,
    });
  }

  /** Looks whether a partial set fits, url by url where that is not certain. @throws Refusal 202 or 203 */
  async demandQuota(): Promise<void> {
    // Nobody waits to hear that there is no room for what nobody announced: the Queue Manager leaves that
    // out.
    if (this.#origin !== undefined) return;
    if (certainlyFits(this.provider, { updates: this.#updates, bytes: this.#announcedBytes })) return;
    try {
      // As it is now: what was free at the login may have been used.
      const provider = this.#pidb.provider(this.provider.pid) ?? this.provider;
      const growth = new SetGrowth(this.#pidb, provider, this.#urlprefix, this.#options.xml);
      for await (const piece of this.#writer.content()) {
        growth.count(piece);
        await new Promise<void>(resolve => void setImmediate(resolve));
      }
      growth.demandRoom();
    } catch (error) {
      // A url that cannot be read is for the Queue Manager to judge, which looks at each url in any case.
      if (!(error instanceof LccError) || !UNREADABLE.has(error.code)) throw error;
    }
  }

  /** As if nothing had been sent. */
  async abort(): Promise<void> {
    await this.#writer.abort();
  }

  #demandWithinLimits(): void {
    const { filesmax, spacemax } = this.provider;
    if (this.#urls > this.#options.limits.maxSetUrls)
      throw new Refusal(
        106,
        `too many urls in one set: the limit is ${limitOf(this.#options, 'uns.max_set_urls')}`,
      );
    if (this.#origin !== undefined) return;
    if (this.#updates > filesmax) {
      throw overFiles(this.provider);
    }
    if (this.#announcedBytes > spacemax) {
      throw overSpace(this.provider);
    }
  }
}
