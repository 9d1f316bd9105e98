/** Long pages that are as people write them: time and memory by their length, in a process of its own. */
import { describe, it } from 'node:test';
import { isBounded } from '../../support/hostile-pages.js';
import { longIt } from '../../support/long.js';

const PART = '<h2>Part</h2><p>One <b>more</b> sentence stands <a href=x>here</a>.\n';
const page = (bytes: number): string => PART.repeat(bytes / PART.length);

describe('a long page', () => {
  it('of 2 MB takes time and memory by its length', () => isBounded(page(2_000_000)));

  longIt('of 199 MB takes time and memory by its length', async () => isBounded(page(199_000_000), 120_000));
});
