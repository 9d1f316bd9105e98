// node scripts/code-cache.cjs BUNDLE [ARGUMENT…]: runs a bundle and keeps, beside it, the code V8 has made of it by then,
// with every function that was called. To be run with arguments that make a filter do its usual work.
const { readFileSync, writeFileSync } = require('node:fs');
const { createRequire, wrap } = require('node:module');
const { basename, dirname } = require('node:path');
const v8 = require('node:v8');
const { Script } = require('node:vm');

const [node, , bundle, ...args] = process.argv;
process.argv = [node, bundle, ...args];
// V8 hands the code only to a process with the flags of the one that made it, and it is asked for before any are set.
v8.setFlagsFromString = () => undefined;
// The name goes into the code, without the folder of this machine: a slice of the path would have all of it behind it.
const filename = Buffer.from(basename(bundle)).toString();
const script = new Script(wrap(readFileSync(bundle, 'latin1')), { filename });
process.on('exit', () =>
  writeFileSync(`${bundle}.${process.version}-${process.arch}`, script.createCachedData()),
);
const module_ = { exports: {} };
script
  .runInThisContext()
  .call(module_.exports, module_.exports, createRequire(bundle), module_, bundle, dirname(bundle));
