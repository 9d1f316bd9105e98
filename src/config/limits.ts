/** Settings as the limits that the library takes. */
import type { XmlLimits } from '../lib/xml/types.js';
import type { Settings } from './settings/index.js';

export function xmlLimitsOf({ tokenBytes, depth, attributes, nameBytes }: Settings['xml']): XmlLimits {
  return {
    maxTokenBytes: tokenBytes,
    maxDepth: depth,
    maxAttributes: attributes,
    maxNameBytes: nameBytes,
  };
}
