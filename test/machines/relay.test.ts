import { survivesMachines } from './support/scenarios.js';

survivesMachines('machines that are connected to a relay', { relay: true, cuts: ['silent'] });
