/** The little of mdoc(7) that tests read: lists of options, keys and codes, and references to other pages. */
import { projectFiles, readProjectFile } from './tree.js';

export interface Page {
  path: string;
  /** `lccq(1)`. */
  title: string;
  lines: string[];
}

/** Every page in man/. */
export function manPages(): Page[] {
  return projectFiles('man').map(path => {
    const found = /^man\/(.+)\.(\d)$/.exec(path);
    const title = found === null ? path : `${found[1]}(${found[2]})`;
    return { path, title, lines: readProjectFile(path).split('\n') };
  });
}

/** The page of a command, undefined when there is none. */
export function pageOf(command: string): Page | undefined {
  return manPages().find(page => page.title.startsWith(`${command}(`));
}

/** Options that a page lists (`.It Fl q , Fl -quiet`), as typed: `-q`, `--quiet`. Not those its prose mentions. */
export function listedOptions(page: Page): string[] {
  const options: string[] = [];
  for (const line of page.lines) {
    if (!line.startsWith('.It Fl ')) continue;
    let dashes = '';
    let before = '';
    for (const word of line.split(/\s+/).slice(1)) {
      // `Fl -quiet` and `Fl Fl quiet` are the same.
      if (word === 'Fl') dashes = before === 'Fl' ? '--' : '-';
      else if (/^[A-Z][a-z]$/.test(word)) dashes = '';
      else if (dashes !== '' && /^-?[\w-]+$/.test(word)) options.push(dashes + word);
      before = word;
    }
  }
  return options;
}

/** Manuals a page refers to: `lccq(1)`. */
export function references(page: Page): string[] {
  return page.lines.flatMap(line =>
    [...line.matchAll(/^\.Xr (\S+) (\d)|\bXr (\S+) (\d)/g)].map(m => `${m[1] ?? m[3]}(${m[2] ?? m[4]})`),
  );
}

/** Text of a macro argument with the escapes undone that our pages use. */
export function plain(text: string): string {
  return text
    .replaceAll('\\&', '')
    .replaceAll('\\(dq', '"')
    .replaceAll('\\-', '-')
    .replaceAll('\\e', '\\')
    .trim();
}

/** The blocks `.Bd -literal` of a page, as a person types them. */
export function examples(page: Page): string[] {
  const text = page.lines.join('\n');
  return [...text.matchAll(/^\.Bd -literal.*\n([^]*?)^\.Ed$/gm)].map(([, block = '']) =>
    block.replaceAll('\\&', '').replaceAll('\\e', '\\'),
  );
}
