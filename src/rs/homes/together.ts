/** Answers of several homes put together. */
import type { RsOverview, RsProviderPage } from '../../wire/rs-looks.js';
import type { RsQuestion } from '../../wire/qm-rs.js';
import type { QmTold } from '../ground.js';

/**
 * The answer of all homes to a question about no provider. @param told that of the home here first
 * @returns undefined where one that is needed did not answer: what it has would be missing
 */
export function together(op: RsQuestion['op'], told: readonly QmTold[]): QmTold {
  const [own] = told;
  if (own === undefined) return undefined;
  const answers = told.filter(each => each !== undefined);
  // A status is asked to find out who is there.
  if (op !== 'status' && answers.length < told.length) return undefined;
  const all: Record<string, unknown> = {};
  for (const answer of answers)
    for (const [name, value] of Object.entries(answer)) {
      const before = all[name];
      all[name] =
        Array.isArray(value) && Array.isArray(before)
          ? [...(before as unknown[]), ...(value as unknown[])]
          : typeof value === 'number' && typeof before === 'number'
            ? before + value
            : value;
    }
  return all;
}

/** An overview of all homes. @param others by their numbers; undefined: it did not answer */
export function overviewTogether(
  own: RsOverview,
  others: ReadonlyMap<number, RsOverview | undefined>,
): RsOverview {
  const all = structuredClone(own);
  for (const [shard, seen] of others) {
    const named = <T extends { name: string }>(row: T): T => ({ ...row, name: `${shard}/${row.name}` });
    if (seen === undefined) {
      all.reasons.push(`home ${shard} does not answer`);
      all.daemons.push({ name: `${shard}/lccd-qm`, problem: 'does not answer' });
      continue;
    }
    all.summary += `; home ${shard}: ${seen.summary}`;
    all.reasons.push(...seen.reasons.map(reason => `home ${shard}: ${reason}`));
    all.providers += seen.providers;
    all.sites.push(...seen.sites);
    all.daemons.push(...seen.daemons.map(named));
    all.machines.push(...seen.machines.map(named));
    const { total, providers, left_off: leftOff } = seen.queue;
    all.queue.total.waiting += total.waiting;
    all.queue.total.ages = all.queue.total.ages.map((count, i) => count + (total.ages[i] ?? 0));
    all.queue.total.exact &&= total.exact;
    all.queue.providers.push(...providers);
    all.queue.left_off.providers += leftOff.providers;
    all.queue.left_off.waiting += leftOff.waiting;
  }
  all.queue.providers.sort((a, b) => b.waiting - a.waiting);
  return all;
}

/** A page of the providers of all homes: as far as each of them has come. */
export function pageTogether(pages: readonly RsProviderPage[]): RsProviderPage {
  const ends = pages.map(({ next }) => next).filter(next => next !== null);
  const next = ends.length === 0 ? null : Math.min(...ends);
  const providers = pages
    .flatMap(page => page.providers)
    .filter(({ pid }) => next === null || pid <= next)
    .sort((a, b) => a.pid - b.pid);
  return { providers, next };
}
