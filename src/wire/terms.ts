/** Terms of a provider that registers by itself, from the settings. */
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

/** By an approval, at most. */
export function mostTermsOf(rs: Settings['rs']) {
  return {
    filesmax: rs.mostFilesmax,
    spacemax: rs.mostSpacemaxBytes,
    fullsetsallowed: rs.mostFullsetsallowed,
    bandwidth: rs.mostBandwidthBytesPerS,
    priority: rs.mostPriority,
  };
}
