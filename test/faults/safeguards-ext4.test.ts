import { losesNothing } from './safeguards.js';

losesNothing('ext4');
