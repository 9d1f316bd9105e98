import { keepsItsPromises } from './acceptance.js';

keepsItsPromises('npm');
