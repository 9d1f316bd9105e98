/** The code of a thread: a CommonJS bundle, since the loader of modules takes a thread longer to start than all else. */
import { join } from 'node:path';

/** For `new Worker(…)`: `name` beside the bundles of the commands, one of which this may be part of. */
export function threadFile(name: string): string {
  const here = import.meta.dirname;
  return join(here.endsWith(join('src', 'bot')) ? join(here, '../../bin') : here, name);
}
