import { survivesKillsAt } from '../support/main-line.js';

survivesKillsAt([
  'qm.slice.committed',
  'qm.reconcile.committed',
  'qm.set.complete',
  'qm.acked',
  'qm.result.committed',
  'qm.set.finished',
]);
