/** Settings as the limits that the library takes. */
import type { XmlLimits } from '../lib/xml/types.js';
import type { Config } from './load.js';

export function xmlLimitsOf(config: Config): XmlLimits {
  return {
    maxTokenBytes: config.get('xml.token_bytes'),
    maxDepth: config.get('xml.depth'),
    maxAttributes: config.get('xml.attributes'),
    maxNameBytes: config.get('xml.name_bytes'),
  };
}
