import { survivesKillsAt } from '../support/main-line.js';

survivesKillsAt([
  'bm.names.reserved',
  'bm.names.noted',
  'bm.deletions.acknowledged',
  'bm.files.unlinked',
  'bm.names.freed',
  'fetch.file.placed',
]);
