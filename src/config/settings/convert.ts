/** `[convert]`: programs that make text of documents which are none, for `lccq`. */
import { GB, HOUR, MB, SECOND } from '../amounts.js';
import { bytes, count, list, ms, type Section } from './rows.js';

export const CONVERT = {
  'convert.commands': list(
    [],
    'TYPE TYPE-OF-THE-OUTPUT PROGRAM ARGUMENT...: programs that make text of documents of a type; the first that fits',
  ),
  'convert.sandbox': {
    type: 'string',
    default: 'auto',
    doc: 'whether they run without network and files: required, where bwrap is there (auto), or off',
    oneOf: ['required', 'auto', 'off'],
  },
  'convert.timeout_ms': ms(60 * SECOND, 100, HOUR, 'time for one document'),
  'convert.memory_bytes': bytes(
    GB,
    16 * MB,
    256 * GB,
    'memory of such a program, and of files that it writes',
  ),
  'convert.jobs': count(2, 1, 64, 'such programs at a time'),
} as const satisfies Section<'convert'>;
