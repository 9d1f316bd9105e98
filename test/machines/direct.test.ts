import { survivesMachines } from './support/scenarios.js';

survivesMachines('machines that are connected to the Queue Manager', {
  relay: false,
  cuts: ['down', 'silent'],
});
