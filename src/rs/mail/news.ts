/** News: what confirmed addresses hear, gathered into one mail each; what the operator hears; daily hints to
 * providers. */
import type { ShownProvider } from '../../db/providers/registered.js';
import { step } from '../../lib/steps.js';
import { changesLetter, sitesLetter } from './letters.js';
import { MAX_NOTES, type Mailing } from './mailing.js';
import type { MailOptions } from './options.js';
import type { RsGround } from '../ground.js';

const DAY_MS = 86_400_000;
/** Addresses that are written to in one transaction, providers that are looked at in one go, and sites that
 * are named. */
const AT_A_TIME = 1000;
const HINTS_AT_A_TIME = 20;
const MAX_SITES = 20;

export interface NewsOptions extends Pick<RsGround, 'db' | 'clock' | 'show'> {
  mailing: Mailing;
  options: MailOptions;
}

export class News {
  readonly #options: NewsOptions;

  constructor(options: NewsOptions) {
    this.#options = options;
  }

  /** Makes mails of what was noted, as far as the limits allow. @returns how many */
  gather(): number {
    const { db, mailing, options, clock } = this.#options;
    const nowMs = clock.nowMs();
    const firstMs = db.addresses.firstNoteMs() ?? Infinity;
    // One of the future is of a clock that was ahead: it has waited long enough.
    if (firstMs > nowMs - options.gatherMs && (firstMs <= nowMs || firstMs === Infinity)) return 0;
    const written = db.write(() => {
      const { addresses } = db;
      const ready = addresses
        .toHear(nowMs - options.gatherMs, nowMs, AT_A_TIME)
        .filter(({ address }) => mailing.hasRoom(address));
      for (const { registration, address } of ready) {
        const { notes, count } = addresses.notesOf(registration, MAX_NOTES);
        const body = changesLetter(addresses.pidOf(registration), notes, count, options);
        mailing.queue('changes', registration, address, '', body);
        addresses.removeNotes(registration);
      }
      return ready.length;
    });
    if (written > 0) step('rs.mail.gathered');
    return written;
  }

  /**
   * Tells the operator which sites wait, if one has come since the last time and that was long enough ago.
   * @returns whether it does
   */
  tellOperator(): boolean {
    const { db, mailing, options, clock } = this.#options;
    if (options.operator === '' || !options.isSending) return false;
    const nowMs = clock.nowMs();
    const { registrations, mails } = db;
    const toldMs = mails.operatorMs();
    if (toldMs <= nowMs && nowMs - toldMs < options.operatorMs) return false;
    const waiting = registrations.inStates(['waiting'], MAX_SITES);
    if (!waiting.some(({ changedMs }) => changedMs > Math.min(toldMs, nowMs))) return false;
    db.write(() => {
      const body = sitesLetter(waiting, registrations.count('waiting'), options);
      mailing.queue('sites', null, options.operator, '', body);
      mails.setOperatorMs(nowMs);
    });
    step('rs.mail.operator');
    return true;
  }

  /** Looks at providers that were not looked at for a day, and notes a hint where one is needed. */
  async hint(): Promise<void> {
    const { db, options, clock, show } = this.#options;
    if (options.email === 'off') return;
    for (const address of db.addresses.unlooked(clock.nowMs() - DAY_MS, clock.nowMs(), HINTS_AT_A_TIME)) {
      const { registration } = address;
      const pid = db.addresses.pidOf(registration);
      const provider = pid === undefined ? undefined : await show(pid);
      if (provider === undefined) continue;
      db.write(() => {
        for (const text of hintsOf(provider, options.errorPart))
          db.addresses.note(clock.nowMs(), text, registration);
        db.addresses.looked(clock.nowMs(), address.id);
      });
    }
  }
}

/** @param errorPart of its urls, from which errors are worth a mail */
function hintsOf(
  { fullsetwanted: wanted, filesused: files = 0, nurlerrs: errors = 0 }: Partial<ShownProvider>,
  errorPart: number,
): string[] {
  const all = files + errors;
  return [
    ...(wanted ? [`a full set is wanted (${wanted}); lcccpstate --full makes one`] : []),
    ...(errors > all * errorPart
      ? [`${errors} of ${all} urls cannot be fetched; the page of errors says why`]
      : []),
  ];
}
