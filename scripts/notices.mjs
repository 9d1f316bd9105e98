// What the licences of the packages in our bundles require: their notices, in a file that goes with them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const NOTICE = /^(licen[cs]e|copying|notice)/i;

/** The text of a licence, for packages that name it and come without. */
const TEXTS = {
  ISC: `Permission to use, copy, modify, and/or distribute this software for any purpose with or without fee is hereby granted, provided
that the above copyright notice and this permission notice appear in all copies.

THE SOFTWARE IS PROVIDED "AS IS" AND THE AUTHOR DISCLAIMS ALL WARRANTIES WITH REGARD TO THIS SOFTWARE INCLUDING ALL IMPLIED WARRANTIES
OF MERCHANTABILITY AND FITNESS. IN NO EVENT SHALL THE AUTHOR BE LIABLE FOR ANY SPECIAL, DIRECT, INDIRECT, OR CONSEQUENTIAL DAMAGES OR
ANY DAMAGES WHATSOEVER RESULTING FROM LOSS OF USE, DATA OR PROFITS, WHETHER IN AN ACTION OF CONTRACT, NEGLIGENCE OR OTHER TORTIOUS
ACTION, ARISING OUT OF OR IN CONNECTION WITH THE USE OR PERFORMANCE OF THIS SOFTWARE.`,
  MIT: `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated documentation files
(the "Software"), to deal in the Software without restriction, including without limitation the rights to use, copy, modify, merge,
publish, distribute, sublicense, and/or sell copies of the Software, and to permit persons to whom the Software is furnished to do so,
subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE WARRANTIES OF
MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE
FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION
WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`,
};

/** The package that a file is of: the innermost one with a package.json, for some have others built in. */
function folderOf(root, path) {
  const [, folder] = /^(.*node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(path) ?? [];
  if (folder === undefined || existsSync(join(root, folder, 'package.json'))) return folder;
  return folderOf(root, folder.replace(/node_modules\/(?:@[^/]+\/)?[^/]+$/, ''));
}

/**
 * The notices of all packages that have files among `inputs`, paths as esbuild has them.
 * @throws Error for a package that comes without one, under a licence whose text is not here
 */
export function noticesOf(root, inputs) {
  const folders = new Set(inputs.flatMap(path => folderOf(root, path.replace(/^[\w-]+:/, '')) ?? []));
  const texts = [...folders].sort().map(folder => {
    const dir = join(root, folder);
    const { name, version, license, author } = JSON.parse(readFileSync(join(dir, 'package.json'), 'utf8'));
    const files = readdirSync(dir, { withFileTypes: true }).filter(
      each => each.isFile() && NOTICE.test(each.name),
    );
    const notices = files.map(each => readFileSync(join(dir, each.name), 'utf8').trim());
    if (notices.length === 0) {
      if (TEXTS[license] === undefined)
        throw new Error(
          `${name}: no file with its licence (${license}); find its text for scripts/notices.mjs`,
        );
      const whose = typeof author === 'string' ? author : (author?.name ?? `the authors of ${name}`);
      notices.push(`Copyright (c) ${whose}\n\n${TEXTS[license]}`);
    }
    return `${name} ${version} (${license})\n\n${notices.join('\n\n')}\n`;
  });
  const line = `\n${'-'.repeat(78)}\n\n`;
  return `The programs in this folder have parts of these packages in them.\n${line}${texts.join(line)}`;
}
