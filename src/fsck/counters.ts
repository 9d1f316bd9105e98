/** Counters of providers against what they count. */
import type { CheckContext, Finding } from './types.js';

export function* counters({ look, repairs }: CheckContext): Generator<Finding> {
  const wrong = look.wrongCounts();
  repairs?.setCounts(wrong);
  for (const { pid, column, is, should } of wrong) {
    const what = `${column} is ${is}, the tables say ${should}`;
    yield { kind: 'counter', where: `provider ${pid}`, what, repaired: repairs !== undefined };
  }
}
