// What a launcher says when there is nothing to launch: in a clone before its first build.
const { dirname } = require('node:path');

/** Says what to do, exit status 78 (configuration); any other fault of the command `name` goes on as it is. */
module.exports = (name, error) => {
  if (error?.code !== 'MODULE_NOT_FOUND') throw error;
  process.stderr.write(`${name}: not built yet; run npm ci && npm run build in ${dirname(__dirname)}\n`);
  process.exitCode = 78;
};
