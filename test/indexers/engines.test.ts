import { keepsItsPromises } from './acceptance.js';

keepsItsPromises('engines');
