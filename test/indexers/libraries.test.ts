import { keepsItsPromises } from './acceptance.js';

keepsItsPromises('libraries');
