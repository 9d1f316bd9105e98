/** Servers that do everything wrong, and what each must lead to (section 6 of the robot's specification). */
import { CODINGS } from './codings.js';
import { FRAMING } from './framing.js';
import { HEADERS } from './headers.js';
import { PROTOCOL } from './protocol.js';
import { REDIRECTS } from './redirects.js';
import type { HostileCase } from './saying.js';
import { TIMES } from './times.js';

export const CASES: readonly HostileCase[] = [
  ...REDIRECTS,
  ...TIMES,
  ...HEADERS,
  ...FRAMING,
  ...CODINGS,
  ...PROTOCOL,
];
