/** The code of a thread of this folder: a command's bundle has no file for it, the modules beside the bundle do. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

/** For `new Worker(…, { eval: true })`: calls what `module` exports as `name`. */
export function threadSource(module: string, name: string): string {
  const here = import.meta.dirname;
  const folder = here.endsWith(join('src', 'bot')) ? here : join(here, '../src/bot');
  const url = pathToFileURL(join(folder, module)).href;
  return `import(${JSON.stringify(url)}).then(thread => thread.${name}())`;
}
