/** All that is known of one url: how it stands at each provider with a root around it, as values and in
 * words. */
import { amount } from '../config/words.js';

/** Times are seconds since 1970. */
export interface UrlLife {
  pid: number;
  /** The root that it lies below; null: none of now. */
  root: string | null;
  /** State of the provider, in words for people. */
  state: string;
  /** One for each mimetype; none: nothing is known. */
  rows: UrlLifeRow[];
}

export interface UrlLifeRow {
  mimetype: string;
  /** The set that named it last; `at` is null where that is long ago. */
  announced: { psetid: number; at: number | null; door: UrlDoor; uns: string | null; full: boolean } | null;
  /** `opens`: when the hours of its own begin that it waits for, null = none. */
  waiting: { tries: number; since: number | null; opens: number | null } | null;
  held: { seq: number; bytes: number; since: number } | null;
  /** The last failure, of a fetch or of what came before it. `received`: by its CP; `at` is null where that
   * is not known. */
  failure: { code: number; text: string; at: number | null; received: boolean } | null;
  gone: { seq: number; at: number } | null;
  /** Nobody announced it, and it was not to be had: no link has it asked for before `until`. */
  absent: { code: number; asked: number; until: number } | null;
}

/** Who has it fetched: its owner (lcccp), or what comes by the spider door. */
export type UrlDoor = 'owner' | 'push' | 'links' | 'scan' | 'audit' | 'entry';

const DOORS: Record<UrlDoor, string> = {
  owner: 'its owner (lcccp)',
  push: 'a push (lccd-rs)',
  links: 'a link (lcclinks)',
  scan: 'a scan (lccscan)',
  audit: 'an audit (lccscan)',
  entry: 'a push (lccd-rs) or as the begin of a crawl (lcclinks)',
};

interface LifeWords {
  /** A moment, milliseconds since 1970. */
  time: (atMs: number) => string;
  advice: (code: number) => { means: string; todo: string };
}

/** The facts of a row: a label and a text each, in the order of its life, and last what to do. */
export function lifeFacts(row: UrlLifeRow, state: string, { time, advice }: LifeWords): [string, string][] {
  const { announced, waiting, held, failure, gone, absent } = row;
  const at = (s: number) => time(s * 1000);
  const facts: [string, string][] = [];
  if (announced !== null) facts.push(['announced', announcedText(announced, at)]);
  if (waiting !== null) {
    const { tries, since, opens } = waiting;
    const parts = [
      since === null ? 'yes' : `since ${at(since)}`,
      tries === 0 ? '' : `tried ${amount(tries, 'time')} in vain`,
      opens === null ? '' : `its own hours begin at ${at(opens)}`,
    ];
    facts.push(['in the queue', parts.filter(part => part !== '').join('; ')], ['its provider', state]);
  }
  const isFailed = failure !== null && (held === null || failure.at === null || failure.at >= held.since);
  if (isFailed) facts.push(['last fetch', failedText(failure, at, (waiting?.tries ?? 0) > 0)]);
  else if (held !== null) facts.push(['last fetch', `it came at ${at(held.since)}`]);
  if (absent !== null)
    facts.push([
      'last fetch',
      `not to be had at ${at(absent.asked)}: ${absent.code}; no link has it asked for before ${at(absent.until)}`,
    ]);
  if (held !== null)
    facts.push(
      ['held', `since ${at(held.since)}, ${amount(held.bytes, 'byte')}`],
      ['told', toldText(held.seq)],
    );
  if (held === null && gone !== null)
    facts.push(['gone', `since ${at(gone.at)}`], ['told', toldText(gone.seq)]);
  facts.push(['to do', todoOf(row, isFailed, advice)]);
  return facts;
}

/** Where nothing is known of a url. */
export const UNKNOWN_TODO =
  'it was never announced, is gone for long, or was refused as it was announced: compare it, letter by letter, with the list, and look at what lcccp printed';

function announcedText(
  { psetid, at, door, uns, full }: NonNullable<UrlLifeRow['announced']>,
  time: (s: number) => string,
): string {
  const when = at === null ? 'long ago' : `at ${time(at)}`;
  const way = uns === null ? '' : `, at the UNS ${uns}`;
  return `${when} by ${DOORS[door]}${way}, ${full ? 'full set' : 'set'} ${psetid}`;
}

function failedText(
  { code, text, at, received }: NonNullable<UrlLifeRow['failure']>,
  time: (s: number) => string,
  isTried: boolean,
): string {
  const when = at === null ? '' : ` at ${time(at)}`;
  const told = isTried ? 'lcccp tells it if no try succeeds' : 'lcccp tells it in its next run';
  return `failed${when}: ${code} ${text}; ${received ? 'lcccp has told it' : told}`;
}

function toldText(seq: number): string {
  return `to cursors that stand at ${seq} or above; to the others when they are read next`;
}

function todoOf(row: UrlLifeRow, isFailed: boolean, advice: LifeWords['advice']): string {
  const { waiting, held, failure, absent } = row;
  if (isFailed && failure !== null) {
    const { means, todo } = advice(failure.code);
    return `${means} ${waiting === null ? todo : `It is tried again by itself. ${todo}`}`;
  }
  if (waiting !== null) return 'nothing: it is fetched now, or when its turn comes';
  if (held !== null) return 'nothing';
  if (absent !== null) return advice(absent.code).means;
  return 'announce it again, if it should be there';
}
