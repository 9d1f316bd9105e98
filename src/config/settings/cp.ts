/** `[cp]`: what a site keeps of sets whose acceptance it did not hear of. */
import { count, type Section } from './rows.js';

export const CP = {
  'cp.max_doubtful_urls': count(
    100_000,
    0,
    1_000_000_000,
    'urls that are gone, and that only such sets name',
  ),
} as const satisfies Section<'cp'>;
