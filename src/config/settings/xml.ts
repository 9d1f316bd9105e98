/** `[xml]`: what one message may look like, whichever peer sends it (limits.md, XML). */
import { KB, MB } from '../amounts.js';
import { bytes, count, type Section } from './rows.js';

export const XML = {
  'xml.token_bytes': bytes(64 * KB, 1 * KB, 16 * MB, 'longest tag, attribute value or run of text'),
  'xml.depth': count(8, 4, 64, 'deepest nesting of elements'),
  'xml.attributes': count(32, 12, 256, 'attributes of one element'),
  'xml.name_bytes': bytes(256, 32, 4 * KB, 'longest element or attribute name'),
  'xml.url_bytes': bytes(8 * KB, 256, 64 * KB, 'longest url'),
} as const satisfies Section<'xml'>;
