// Which LCC the commands of this package mean where nobody says it: that of the machine, for those who may read it and have none of their
// own.
const { accessSync, constants, existsSync } = require('node:fs');

const { env } = process;
const own = `${env.XDG_DATA_HOME ?? `${env.HOME ?? ''}/.local/share`}/lcc`;
if (env.LCC_HOME === undefined && !existsSync(own)) {
  try {
    accessSync('/var/lib/lcc', constants.R_OK | constants.X_OK);
    env.LCC_HOME = '/var/lib/lcc';
    env.LCC_CONFIG ??= '/etc/lcc/lcc.toml';
  } catch {
    // That of another user.
  }
}
