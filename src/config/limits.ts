/** Settings as the limits that the library takes. */
import type { XmlLimits } from '../lib/xml/types.js';
import type { Settings } from './settings/index.js';

export function xmlLimitsOf({ tokenBytes }: Settings['xml']): XmlLimits {
  return {
    maxTokenBytes: tokenBytes,
    maxDepth: 8,
    maxAttributes: 32,
    maxNameBytes: 256,
  };
}
