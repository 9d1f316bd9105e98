// Builds the project: type-checked modules in dist/src and dist/test (the library, what tests import), and one
// CommonJS bundle per command in dist/bin (what bin/ launches). Bundles exist for start-up time alone: a filter in a
// short pipeline pays more for resolving modules than for its work (docs/design/startup.md has the measurement).
import { build } from 'esbuild';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { shellCommands, writeCompletions } from './completions.mjs';
import { CP_COMMANDS, writeCpPackage } from './cp-package.mjs';
import { noticesOf } from './notices.mjs';

const root = join(dirname(fileURLToPath(import.meta.url)), '..');
const commandsDir = join(root, 'src/commands');
const outDir = join(root, 'dist/bin');

/** The commands, as package.json has them: the modules in src/commands with these names. */
const names = Object.keys(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).bin);

const tsc = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', root], {
  stdio: 'inherit',
});

/**
 * Parts of Node that most runs of a command never use, commander's child_process first among them: a bundle loads each
 * when something of it is used for the first time. Start of file2url: 1.19 times a bare node without, 1.14 with it.
 */
const lazyModules = {
  name: 'lazy-modules',
  setup(bundle) {
    const lazy =
      /^node:(child_process|crypto|dgram|http|https|net|os|readline|sea|stream|tls|tty|v8|vm|worker_threads|zlib)$/;
    bundle.onResolve({ filter: lazy }, ({ path, namespace }) =>
      namespace === 'lazy' ? { path, external: true } : { path, namespace: 'lazy' },
    );
    bundle.onLoad({ filter: lazy, namespace: 'lazy' }, async ({ path }) => ({
      contents: `for (const name of ${JSON.stringify(Object.keys((await import(path)).default))})
        Object.defineProperty(exports, name, {
          configurable: true,
          enumerable: true,
          get() {
            const value = require('${path}')[name];
            Object.defineProperty(exports, name, { value });
            return value;
          },
        });`,
    }));
  },
};

/** undici's HTTP/2, which nobody here speaks, would load Node's, TLS and all of crypto. */
const withoutUndiciHttp2 = {
  name: 'without-undici-http2',
  setup(bundle) {
    bundle.onLoad({ filter: /undici\/lib\/dispatcher\/client-h2\.js$/ }, () => ({
      contents: `module.exports = () => { throw new Error('undici does not speak HTTP/2 here'); };`,
    }));
  },
};

rmSync(join(root, 'dist/lib'), { recursive: true, force: true });
mkdirSync(outDir, { recursive: true });
for (const old of readdirSync(outDir)) rmSync(join(outDir, old), { recursive: true });
writeFileSync(join(outDir, 'package.json'), '{ "type": "commonjs" }\n');

/**
 * What starts with cached code, since it is started often or for little: the commands of a site, lccq, lcclinks and the robot; with
 * the arguments and the input of its usual work below SCRATCH.
 */
const SITE = `<?lcc from="build"?>
<url curl="a.html" mimetype="text/html" len="1" mtime="2026-11-20T10:13:01Z"/>
<?lcc end?>
`;
const USUAL_WORK = {
  file2url: [['--docroot=SCRATCH', '--', 'SCRATCH/page.html'], SITE],
  lcccpstate: [['--statefile=SCRATCH/state', '--quiet', '--commit-now'], SITE],
  lcccp: [['--dry-run', '--quiet'], SITE],
  sitemap2url: [
    ['--quiet', '-'],
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"><url><loc>http://a/</loc></url></urlset>',
  ],
  feed2url: [
    ['--quiet', '-'],
    '<rss version="2.0"><channel><title>a</title><link>http://a/</link><item><link>http://a/b</link></item></channel></rss>',
  ],
  lccregister: [['--help'], ''],
  lccq: [['--cursor=SCRATCH/cursor'], ''],
  lcclinks: [
    ['--assets'],
    `<?lcc from="build"?>\n${'<url curl="http://a/" mimetype="text/html" pid="1" file="SCRATCH/links.html"/>\n'.repeat(100)}<?lcc end?>\n`,
  ],
  lccbot: [
    ['--stdio', '--allow-address=127.0.0.1', '--slots=16'],
    Array.from({ length: 100 }, (_, i) => `<fetch id="${i}" url="PAGE" file="SCRATCH/${i}.html"/>\n`).join(
      '',
    ),
  ],
};
/** What lcclinks reads. */
const LINKS = `<!doctype html><html><head><title>a</title><link rel="stylesheet" href="/a.css"></head><body>
${'<p class="a"><a class="b" href="../b/c.html#d">c</a><img src="/d.png" alt=""><span>e</span></p>\n'.repeat(20)}`;
/** What lccq finds, and the provider whose links lcclinks follows. */
const ROW = `INSERT INTO lccurl(pid, curl, mimetype, md5, len, fetched_time, fetched_machineid, fetched_fileid, psetid, seq)
  VALUES (1, 'http://a/', 'text/html', '', 0, 0, 'local', '', 1, 1);
  UPDATE counter SET value = 1 WHERE name = 'seq';
  INSERT INTO pidb(pid, password, spider) VALUES (1, '', 1);
  INSERT INTO proots(pid, root) VALUES (1, 'http://a/')`;

/** One CommonJS file of what `contents`, a module in src/commands, imports. */
const bundle = (outName, contents) =>
  build({
    // Names of files are in what is made.
    absWorkingDir: root,
    stdin: { contents, resolveDir: commandsDir, sourcefile: `${outName}.entry.ts`, loader: 'ts' },
    outfile: join(outDir, outName),
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    format: 'cjs',
    // What is started with cached code has no module loader of its own to import by.
    supported: { 'dynamic-import': false },
    // Files beside the bundle (worker threads) are found from where it lies.
    define: { 'import.meta.dirname': '__dirname' },
    plugins: [lazyModules, withoutUndiciHttp2],
    external: ['mariadb', 'prom-client'],
    // The notices of packages stand in a file of their own.
    legalComments: 'none',
    // A third shorter; names stay, and lines, for traces.
    minifyWhitespace: true,
    lineLimit: 100,
    metafile: true,
    // Until a daemon has begun to listen to it, SIGHUP would end it; what it is to read again it has not read yet.
    banner: outName.startsWith('lccd') ? { js: "process.on('SIGHUP', () => undefined);" } : {},
    logLevel: 'warning',
  });

const bundles = await Promise.all([
  ...names.map(name =>
    bundle(
      name in USUAL_WORK ? `${name}.bundle.cjs` : `${name}.cjs`,
      // What loads it from a module, as tests do, runs the command by itself: then no CommonJS file was started.
      `import { command } from './${name}.js';
       import { launch, runCommand } from './run.js';
       export { command, runCommand };
       if (require.main !== undefined) launch(command);`,
    ),
  ),
  bundle(
    'checkpoint-worker.cjs',
    `import { serveCheckpoints } from '../db/sqlite/checkpoint-thread.js';\nserveCheckpoints();\n`,
  ),
  bundle('feed-worker.cjs', `import { serveFeeds } from '../rs/feeds/read-document.js';\nserveFeeds();\n`),
  bundle('hash-worker.cjs', `import { serveHashing } from '../cp/hash-worker.js';\nserveHashing();\n`),
  bundle('look-worker.cjs', `import { serveLooks } from '../qm/look-thread.js';\nserveLooks();\n`),
  bundle('pack-worker.cjs', `import { servePacking } from '../db/moves/pack-thread.js';\nservePacking();\n`),
  bundle('robot-worker.cjs', `import { serveRobot } from '../bot/robot-thread.js';\nserveRobot();\n`),
  bundle('range-worker.cjs', `import { serveRanges } from '../cu/range-thread.js';\nserveRanges();\n`),
  // Of the executable that has all commands of a site in it (scripts/pack).
  bundle('lcc-cp.main.cjs', `import { launchSite } from './lcc-cp.js';\nlaunchSite();\n`),
  bundle('writer-worker.cjs', `import { serveWriting } from '../bot/writer-thread.js';\nserveWriting();\n`),
]);

/** The library, one module with the code of all packages that it uses but SQLite, which is compiled. */
const library = await build({
  absWorkingDir: root,
  entryPoints: [join(root, 'src/index.ts')],
  outfile: join(root, 'dist/lib/index.js'),
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  // Packages in it that are CommonJS load parts of Node by that name.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module';\nconst require = requireOf(import.meta.url);",
  },
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});

/** Its types: the declarations that the compiler has written, as far as the first one leads. */
function copyTypes(name, seen = new Set()) {
  if (seen.has(name)) return;
  seen.add(name);
  const text = readFileSync(join(root, 'dist/src', name), 'utf8');
  const target = join(root, 'dist/lib', name);
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
  for (const [, to] of text.matchAll(/(?:from|import\()\s*'(\.[^']+)\.js'/g))
    copyTypes(join(dirname(name), `${to}.d.ts`), seen);
}
if (tsc.status === 0) copyTypes('index.d.ts');

writeFileSync(
  join(outDir, 'THIRD-PARTY.txt'),
  noticesOf(
    root,
    [...bundles, library].flatMap(({ metafile }) => Object.keys(metafile.inputs)),
  ),
);

const scratch = mkdtempSync(join(tmpdir(), 'lcc-build-'));
writeFileSync(join(scratch, 'page.html'), '');
writeFileSync(join(scratch, 'links.html'), LINKS);
if (tsc.status === 0) {
  const { openDatabase } = await import('../dist/src/db/sqlite/open.js');
  openDatabase(join(scratch, 'lcc.db')).exec(ROW).close();
}
const site = createServer((_request, response) => {
  response.setHeader('Content-Type', 'text/html').setHeader('ETag', '"1"').end('page');
}).listen(0, '127.0.0.1');
await once(site, 'listening');
const page = `http://127.0.0.1:${site.address().port}/page.html`;
for (const [name, [args, input]] of Object.entries(USUAL_WORK)) {
  copyFileSync(join(root, 'scripts/start-cached.cjs'), join(outDir, `${name}.cjs`));
  const made = spawn(
    process.execPath,
    [
      // The same input makes the same code.
      '--predictable',
      '--random-seed=1',
      join(root, 'scripts/code-cache.cjs'),
      join(outDir, `${name}.bundle.cjs`),
      ...args.map(arg => arg.replace('SCRATCH', scratch)),
    ],
    { stdio: ['pipe', 'ignore', 'inherit'], env: { ...process.env, LCC_HOME: scratch } },
  );
  // A program that has read enough closes it.
  made.stdin.on('error', () => undefined).end(input.replaceAll('SCRATCH', scratch).replaceAll('PAGE', page));
  const [status] = await once(made, 'close');
  if (status !== 0) console.error(`build: ${name} fails (${status}): no code cache, it starts slowly`);
}
site.close();
rmSync(scratch, { recursive: true });

for (const name of names) {
  const launcher = join(root, 'bin', name);
  const text = `#!/usr/bin/env node
try { require('../dist/bin/${name}.cjs'); } catch (error) { notLoaded(error); }
function notLoaded(error) {
  try { require.resolve('./not-built.cjs'); } catch {
    process.stderr.write('${name}: a copy, without what lies beside the original; link to that: ln -s\\n');
    process.exit(78);
  }
  require('./not-built.cjs')('${name}', error);
}
`;
  if (!existsSync(launcher) || readFileSync(launcher, 'utf8') !== text) {
    writeFileSync(launcher, text);
    chmodSync(launcher, 0o755);
  }
}
writeCpPackage();
if (tsc.status === 0)
  writeCompletions(join(root, 'dist/completions'), await shellCommands(root), CP_COMMANDS);
process.exit(tsc.status ?? 1);
