/** The code of a thread: a command's bundle has no file for it, the modules beside the bundle do. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** For `new Worker(…, { eval: true })`: calls what `module`, its path below src/, exports as `name`. */
export function threadSource(module: string, name: string): string {
  const here = import.meta.dirname;
  const src = here.endsWith(join('src', 'lib')) ? join(here, '..') : join(here, '../src');
  const url = pathToFileURL(join(src, module)).href;
  return `import(${JSON.stringify(url)}).then(thread => thread.${name}())`;
}
