import { survivesKillsAt } from '../support/main-line.js';

survivesKillsAt([
  'uns.spool.written',
  'uns.spool.synced',
  'uns.spool.renamed',
  'uns.spool.dirsynced',
  'uns.accepted',
  'uns.forwarded',
  'uns.spool.removed',
]);
