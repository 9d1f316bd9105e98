import { losesNothing } from './safeguards.js';

losesNothing('xfs');
