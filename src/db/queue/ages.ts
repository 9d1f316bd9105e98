/**
 * How long the urls of each provider have waited, in groups: since the set was absorbed that gave them their
 * places. There may be a million sets. What is in the first ones is looked up and counted; SQLite sums up the
 * places of the others.
 */
import type { Db } from '../sqlite/open.js';
import { Sql } from '../sqlite/sql-store.js';

/** Upper bounds of the age groups in minutes; one more group holds what is older. */
export const AGE_MINUTES: readonly number[] = [5, 10, 20, 40, 80, 160, 320, 640, 1280];
export const AGE_GROUPS = AGE_MINUTES.length + 1;

/** Urls by age group. */
interface Ages {
  ages: number[];
  /** False: they are estimates, though their sum is not. */
  exact: boolean;
}

/** How much is looked at one by one. */
interface AgeLimits {
  /** Rows; a set beyond that is taken to be as large as the places from its first url to its last. */
  rows?: number | undefined;
  /** Sets of which first and last url are looked up; beyond that they are taken to be whole. */
  sets?: number | undefined;
}

const COUNTED_ROWS = 200_000;
const LOOKED_UP_SETS = 20_000;
const PAGE_SETS = 1000;

/** Counts of a provider's sets: urls counted, and urls that may be there, by age group. */
interface Found {
  counted: number[];
  guessed: number[];
}

/**
 * The ages of each provider's urls, so that they add up to what the provider has waiting. Inside a
 * transaction.
 * @param waiting urls by provider
 */
export function readAges(
  db: Db,
  nowS: number,
  waiting: ReadonlyMap<number, number>,
  { rows = COUNTED_ROWS, sets = LOOKED_UP_SETS }: AgeLimits = {},
): Map<number, Ages> {
  const found = readSets(db, nowS, rows, sets);
  const ages = new Map<number, Ages>();
  for (const [pid, urls] of waiting) {
    const { counted, guessed } = found.get(pid) ?? empty();
    const guesses = sum(guessed);
    const rest = Math.max(0, urls - sum(counted));
    if (guesses > 0) {
      ages.set(pid, { ages: shared(counted, guessed, guesses, rest), exact: false });
    } else {
      // Urls that belong to no set are being absorbed just now.
      counted[0] = (counted[0] ?? 0) + rest;
      ages.set(pid, { ages: counted, exact: true });
    }
  }
  return ages;
}

/** The counted ones, and `rest` divided as guessed. */
function shared(
  counted: readonly number[],
  guessed: readonly number[],
  guesses: number,
  rest: number,
): number[] {
  let left = rest;
  let guessesLeft = guesses;
  return counted.map((count, group) => {
    const guess = guessed[group] ?? 0;
    const share = guessesLeft === 0 ? 0 : Math.round((left * guess) / guessesLeft);
    left -= share;
    guessesLeft -= guess;
    return count + share;
  });
}

interface AgedSet {
  psetid: number;
  pid: number;
  firstpos: number;
  lastpos: number;
  age: number;
}

/** Sets after one, in the order of their absorption, their parts put together; `age` is the group. */
const AGED_SETS = `SELECT psetid, pid, min(firstpos) AS firstpos, max(lastpos) AS lastpos,
    ${AGE_MINUTES.map(minutes => `($nowS - max(absorbedat) >= ${minutes * 60})`).join(' + ')} AS age
  FROM qpsdb WHERE psetid > $after GROUP BY psetid`;

function readSets(db: Db, nowS: number, countedRows: number, lookedUpSets: number): Map<number, Found> {
  const found = new Map<number, Found>();
  const of = (pid: number): Found => {
    const known = found.get(pid) ?? empty();
    found.set(pid, known);
    return known;
  };
  const sql = new Sql(db);
  const within = 'FROM queued WHERE pos BETWEEN ? AND ?';
  const first = sql.value<[from: number, to: number], number>(`SELECT pos ${within} ORDER BY pos LIMIT 1`);
  const last = sql.value<[from: number, to: number], number>(
    `SELECT pos ${within} ORDER BY pos DESC LIMIT 1`,
  );
  const count = sql.number<[from: number, to: number]>(`SELECT count(*) ${within}`);
  let toCount = countedRows;
  /** @returns false when there are too many places */
  const counted = ({ pid, firstpos, lastpos, age }: AgedSet, places: number): boolean => {
    if (places > toCount) return false;
    toCount -= places;
    if (places > 0) add(of(pid).counted, age, count(firstpos, lastpos));
    return true;
  };

  type Bind = [{ nowS: number; after: number; most?: number }];
  let after = Number.MIN_SAFE_INTEGER;
  const begun = sql.rows<Bind, AgedSet>(`${AGED_SETS} LIMIT $most`)({ nowS, after, most: lookedUpSets });
  for (const set of begun) {
    const head = first(set.firstpos, set.lastpos);
    const places = head === undefined ? 0 : (last(head, set.lastpos) ?? head) - head + 1;
    if (!counted(set, places)) add(of(set.pid).guessed, set.age, places);
  }
  if (begun.length < lookedUpSets) return found;

  after = begun.at(-1)?.psetid ?? after;
  const others = sql.rows<Bind, { pid: number; age: number; places: number }>(
    `SELECT pid, age, sum(max(0, lastpos - firstpos + 1)) AS places FROM (${AGED_SETS}) GROUP BY pid, age`,
  );
  for (const { pid, age, places } of others({ nowS, after })) add(of(pid).guessed, age, places);
  const few = sql.rows<Bind, AgedSet>(
    `${AGED_SETS} HAVING max(lastpos) - min(firstpos) + 1 BETWEEN 1 AND $most LIMIT ${PAGE_SETS}`,
  );
  for (;;) {
    const page = toCount === 0 ? [] : few({ nowS, after, most: toCount });
    for (const set of page) {
      const places = set.lastpos - set.firstpos + 1;
      if (counted(set, places)) add(of(set.pid).guessed, set.age, -places);
    }
    after = page.at(-1)?.psetid ?? after;
    if (page.length < PAGE_SETS) return found;
  }
}

function empty(): Found {
  return { counted: Array<number>(AGE_GROUPS).fill(0), guessed: Array<number>(AGE_GROUPS).fill(0) };
}

function add(groups: number[], age: number, urls: number): void {
  groups[age] = (groups[age] ?? 0) + urls;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
