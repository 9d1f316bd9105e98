/** What a UNS says of itself and a provider in the examples of the protocol. */
import type { InitAccepted } from '../../../src/wire/cp-uns/server.js';

export const STATUS: InitAccepted = {
  seq: 18,
  lastIp: '192.0.2.7',
  isNew: false,
  mimes: ['text/*', 'application/pdf'],
  files: { used: 812, free: 9188 },
  space: { used: 70_231_040, free: 929_768_960 },
  fullset: { allowed: 3, wanted: 'old files' },
  errors: 2,
  processing: 40,
  shown: [],
};
