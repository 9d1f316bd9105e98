/** `[xml]`: what one message may look like, whichever peer sends it. */
import { KB, MB } from '../amounts.js';
import { bytes, type Section } from './rows.js';

export const XML = {
  'xml.token_bytes': bytes(64 * KB, 1 * KB, 16 * MB, 'longest tag, attribute value or run of text'),
  'xml.url_bytes': bytes(8 * KB, 256, 64 * KB, 'longest url'),
} as const satisfies Section<'xml'>;
