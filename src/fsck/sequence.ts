/** Numbers of the change sequence that were not given out, or stand twice. */
import type { CheckContext, Finding } from './types.js';

export function* sequence({ look, live, repairs }: CheckContext): Generator<Finding> {
  let wrong = false;
  for (const { where, what } of live ? look.surely(() => look.wrongNumbers()) : look.wrongNumbers()) {
    wrong = true;
    yield { kind: 'sequence', where, what, repaired: repairs !== undefined };
  }
  if (wrong) repairs?.mendNumbers();
}
