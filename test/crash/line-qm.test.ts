import { survivesKillsAt } from '../support/main-line.js';

survivesKillsAt([
  'qm.session.noted',
  'qm.slice.committed',
  'qm.reconcile.committed',
  'qm.set.complete',
  'qm.acked',
  'qm.result.committed',
  'qm.set.finished',
]);
