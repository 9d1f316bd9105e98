// Prints docs/api.md: every export of src/index.ts with its docstring and its declaration, as the compiler wrote them.
// The build must be current; a test compares the page with what this prints.
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const index = 'dist/src/index.d.ts';
const read = file => readFileSync(join(root, file), 'utf8');

/** Exported names of the package and the declarations they are of, in the order of src/index.ts. */
function exportsOf(source) {
  const names = [];
  const imports = new Map();
  for (const [, list, from] of source.matchAll(/^import (?:type )?\{([^}]*)\} from '(\.[^']+)';$/gm))
    for (const name of namesOf(list)) imports.set(name, join('dist/src', from).replace(/\.js$/, '.d.ts'));
  for (const [, list, from] of source.matchAll(/^export (?:type )?\{([^}]*)\}(?: from '(\.[^']+)')?;$/gm)) {
    const file = from && join('dist/src', from).replace(/\.js$/, '.d.ts');
    for (const name of namesOf(list)) names.push({ name, file: file ?? imports.get(name) });
  }
  const own = [...source.matchAll(/^export (?:declare )?(?:function|interface|class|type|const) (\w+)/gm)];
  return [...own.map(([, name]) => ({ name, file: index })), ...names];
}

const namesOf = list =>
  list
    .split(',')
    .map(name => name.replace(/^\s*type\s+/, '').trim())
    .filter(Boolean);

/** Docstring and declaration of one name. */
function declarationOf({ name, file }) {
  const source = read(file);
  const start = new RegExp(
    `^export (?:declare )?(?=(?:function|interface|class|type|const) ${name}\\b)`,
    'm',
  ).exec(source);
  if (start === null) throw new Error(`${file}: no declaration of ${name}`);
  const comment = /\/\*\*(?:(?!\*\/)[^])*\*\/\n$/.exec(source.slice(0, start.index))?.[0] ?? '';
  const rest = source.slice(start.index + start[0].length);
  // A block ends with the first line that is its closing brace, anything else with its statement.
  const end = /^(?:class|interface)/.test(rest) ? rest.indexOf('\n}') + 2 : rest.search(/;$/m) + 1;
  return { doc: textOf(comment), code: rest.slice(0, end).replace(/\n\s*#private;/, '') };
}

/** The words of a docstring, `@throws` and `@param` as a list. */
function textOf(comment) {
  const lines = comment
    .replace(/^\/\*\*\s?|\s*\*\/\s*$/g, '')
    .split('\n')
    .map(line => line.replace(/^\s*\* ?/, ''));
  const text = lines.join('\n').trim();
  const [words = '', ...tags] = text.split(/^@(?=\w)/m);
  const listed = tags.map(
    tag =>
      `- *${tag
        .trim()
        .replace(/^(\w+)\s+/, '$1* ')
        .replaceAll('\n', '\n  ')}`,
  );
  return [words.trim(), listed.join('\n')].filter(part => part !== '').join('\n\n');
}

const source = read(index);
const intro = textOf(/^\/\*\*[^]*?\*\//.exec(read('src/index.ts'))?.[0] ?? '').replace(
  /^( {4}.*\n?)+/m,
  code => `\`\`\`js\n${code.replace(/^ {4}/gm, '').trimEnd()}\n\`\`\`\n`,
);
const parts = exportsOf(source).map(one => {
  const { doc, code } = declarationOf(one);
  return `## ${one.name}\n\n${doc}\n\n\`\`\`ts\n${code}\n\`\`\`\n`;
});
process.stdout.write(
  `# The library\n\n${intro}\nWritten from the docstrings by \`npm run docs\`.\n\n${parts.join('\n')}`,
);
