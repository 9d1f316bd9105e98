// What dist/bin/NAME.cjs is for what starts with cached code: runs NAME.bundle.cjs, which lies beside it, with the code that V8 made of it at
// build time (scripts/code-cache.cjs). V8 itself refuses a cache that another V8 made; then it compiles, as without.
const { readFileSync } = require('node:fs');
const { wrap } = require('node:module');
const { Script } = require('node:vm');

const bundle = __filename.replace(/cjs$/, 'bundle.cjs');
let cachedData;
try {
  cachedData = readFileSync(`${bundle}.${process.version}-${process.arch}`);
} catch {
  // Built with another Node.
}
new Script(wrap(readFileSync(bundle, 'latin1')), { filename: bundle, cachedData })
  .runInThisContext()
  .call(exports, exports, require, module, bundle, __dirname);
