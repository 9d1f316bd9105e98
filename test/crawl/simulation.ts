/** Years of a site whose pages change by themselves, each at a rate of its own, and of a scan that asks for a number of them a day. */
import { Choice, rateOf } from '../../src/crawl/choice.js';

const DAY_S = 86_400;
const PAGES = 600;
const DAYS = 240;
/** The days before are for learning. */
const FIRST_COUNTED_DAY = 120;
/** Requests a day, in runs of an hour. */
const A_DAY = 72;
const RUNS = 24;
/** Rates a day, evenly spread by their logarithm. */
const [FASTEST, SLOWEST] = [4, 1 / 700];

export type Policy = 'gain' | 'equal' | 'overdue';

interface Page {
  rate: number;
  nextChangeS: number;
  isFresh: boolean;
  checkedS: number;
  n: number;
  x: number;
  t: number;
}

/** Share of pages that are as on the site, on average over time. */
export function meanFreshness(policy: Policy): number {
  const random = numbers(20_261_123);
  const wait = (perDay: number) => (-Math.log(1 - random()) / perDay) * DAY_S;
  const pages = Array.from({ length: PAGES }, (): Page => {
    const rate = SLOWEST * (FASTEST / SLOWEST) ** random();
    return { rate, nextChangeS: wait(rate), isFresh: true, checkedS: 0, n: 0, x: 0, t: 0 };
  });
  let [fresh, looks, next] = [0, 0, 0];
  for (let run = 1; run <= DAYS * RUNS; run++) {
    const nowS = run * (DAY_S / RUNS);
    for (const page of pages)
      while (page.nextChangeS <= nowS) {
        page.isFresh = false;
        page.nextChangeS += wait(page.rate);
      }
    const most = A_DAY / RUNS;
    const chosen =
      policy === 'equal'
        ? Array.from({ length: most }, () => next++ % PAGES)
        : policy === 'gain'
          ? byGain(pages, most, nowS)
          : byOverdue(pages, most, nowS);
    for (const id of chosen) {
      const page = pages[id];
      if (page !== undefined) visit(page, nowS);
    }
    if (nowS < FIRST_COUNTED_DAY * DAY_S) continue;
    fresh += pages.filter(({ isFresh }) => isFresh).length / PAGES;
    looks++;
  }
  return fresh / looks;
}

function byGain(pages: readonly Page[], most: number, nowS: number): number[] {
  const overdue: number[] = [];
  const choice = new Choice(most, nowS, () => true);
  for (const [id, { checkedS, n, x, t }] of pages.entries())
    if (choice.add({ id, checkedS, n, x, t })) overdue.push(id);
  return [...overdue, ...choice.chosen()].slice(0, most);
}

/** Those whose expected changes since they were asked for last are most. */
function byOverdue(pages: readonly Page[], most: number, nowS: number): number[] {
  return pages
    .map((page, id) => ({ id, due: (rateOf(page) ?? 1 / (7 * DAY_S)) * (nowS - page.checkedS) }))
    .toSorted((a, b) => b.due - a.due)
    .slice(0, most)
    .map(({ id }) => id);
}

/** As the Queue Manager keeps them: the past counts half from time to time. */
function visit(page: Page, nowS: number): void {
  page.n++;
  page.x += page.isFresh ? 0 : 1;
  page.t += nowS - page.checkedS;
  if (page.n >= 16) {
    page.n /= 2;
    page.x /= 2;
    page.t /= 2;
  }
  page.checkedS = nowS;
  page.isFresh = true;
}

/** Numbers from 0 to 1, the same each time (mulberry32). */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
