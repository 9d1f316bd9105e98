// One module of each process of a set of tests: loading the hundreds of modules that test files are made of, mostly the same ones
// in each process, takes Node ten times as long. For test.mjs.
import { build } from 'esbuild';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';

/** What the compiler has made. */
const COMPILED = /\/dist\/(src|test)\/.*\.js$/;
/** Packages that find files beside their own, or of which few tests use much. */
const AS_INSTALLED = [
  '@electric-sql/*',
  '@nats-io/*',
  'better-sqlite3',
  'lcc',
  'mariadb',
  'playwright-core',
  'sqlite-vec',
  'warcio',
];

/** What a module says of its place stays right: it is the one of the module itself. */
const inPlace = dir => ({
  name: 'in-place',
  setup(bundle) {
    bundle.onLoad({ filter: COMPILED }, ({ path }) => {
      const contents = readFileSync(path, 'utf8');
      if (!contents.includes('import.meta')) return undefined;
      return {
        contents: `const lccUrl = new URL(${JSON.stringify(relative(dir, path))}, lccBundle).href,
          lccFilename = lccPathOf(lccUrl), lccDirname = lccPathOf(new URL('.', lccUrl)).slice(0, -1);
${contents}`,
      };
    });
    // The package says that none of its modules does anything when it is loaded; tests do.
    bundle.onResolve({ filter: /^\./ }, async ({ path, resolveDir, kind, pluginData }) => {
      if (pluginData === 'resolved' || !/\/dist\/test/.test(resolveDir)) return undefined;
      const found = await bundle.resolve(path, { resolveDir, kind, pluginData: 'resolved' });
      return { ...found, sideEffects: true };
    });
  },
});

/**
 * @param root of the project
 * @param set that is run: a folder for each
 * @param processes names of the files of each
 * @returns for each its module
 */
export async function bundleTests(root, set, processes) {
  const dir = join(root, 'dist/test-bundles', set);
  rmSync(dir, { recursive: true, force: true });
  const nameOf = files => files[0].replaceAll('/', '--');
  const sources = new Map(processes.map(files => [`tests:${nameOf(files)}`, sourceOf(root, files)]));
  await build({
    absWorkingDir: root,
    entryPoints: processes.map(files => ({ in: `tests:${nameOf(files)}`, out: nameOf(files) })),
    outdir: dir,
    outExtension: { '.js': '.mjs' },
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'esm',
    external: AS_INSTALLED,
    define: {
      'import.meta.url': 'lccUrl',
      'import.meta.filename': 'lccFilename',
      'import.meta.dirname': 'lccDirname',
    },
    banner: {
      js: `import { createRequire as lccRequireOf } from 'node:module';
import { fileURLToPath as lccPathOf } from 'node:url';
const require = lccRequireOf(import.meta.url), lccBundle = import.meta.url;`,
    },
    plugins: [
      {
        name: 'entries',
        setup(bundle) {
          bundle.onResolve({ filter: /^tests:/ }, ({ path }) => ({
            path,
            namespace: 'tests',
            sideEffects: true,
          }));
          bundle.onLoad({ filter: /./, namespace: 'tests' }, ({ path }) => ({
            contents: sources.get(path),
            resolveDir: join(root, 'dist/test'),
          }));
        },
      },
      inPlace(dir),
    ],
    logLevel: 'warning',
    legalComments: 'none',
  });
  return new Map(processes.map(files => [files, join(dir, `${nameOf(files)}.mjs`)]));
}

function sourceOf(root, files) {
  if (files.length === 1) return `import './${files[0]}.test.js';`;
  const suites = files.map(
    file => `await describe('test/${file}', async () => void (await import('./${file}.test.js')));`,
  );
  const hasEnd = existsSync(join(root, 'dist/test/support/at-end.js'));
  return `import { describe } from 'node:test';
${hasEnd ? "import { takeOver } from './support/at-end.js';\nconst end = takeOver();" : ''}
${suites.join('\n')}
${hasEnd ? 'await end();' : ''}`;
}
