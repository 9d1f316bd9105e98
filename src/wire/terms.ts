/** Terms of a provider that registers by itself. */
import { GB, MB } from '../config/amounts.js';
import type { Settings } from '../config/settings/index.js';

/** At first. */
export function firstTermsOf(rs: Settings['rs']) {
  return {
    filesmax: rs.filesmax,
    spacemax: rs.spacemaxBytes,
    fullsetsallowed: rs.fullsetsallowed,
    bandwidth: rs.bandwidthBytesPerS,
    priority: rs.priority,
  };
}

/** By an approval, at most; lccpidb gives more. */
export const MOST_TERMS = {
  filesmax: 1_000_000,
  spacemax: 100 * GB,
  fullsetsallowed: 30,
  bandwidth: 10 * MB,
  priority: 1,
};
