/** The folders of an LCC. */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where everything an LCC keeps lives, below `$LCC_HOME`. */
export interface Home {
  dir: string;
  db: string;
  unsSpool: string;
  fsmSpool: string;
  store: string;
  /** The folder of cache clearing. */
  clear: string;
  /** The folder of registration. */
  rs: string;
  /** The folder of the Spider: of a URL server, and unless it is told otherwise of a store server. */
  spider: string;
  run: string;
}

/** `$LCC_HOME`, else `$XDG_DATA_HOME/lcc`, else `~/.local/share/lcc`. */
export function homeOf(env: NodeJS.ProcessEnv): Home {
  const dir = env['LCC_HOME'] || join(env['XDG_DATA_HOME'] || join(homedir(), '.local/share'), 'lcc');
  return {
    dir,
    db: join(dir, 'lcc.db'),
    unsSpool: join(dir, 'spool/uns'),
    fsmSpool: join(dir, 'spool/fsm'),
    store: join(dir, 'store'),
    clear: join(dir, 'clear'),
    rs: join(dir, 'rs'),
    spider: join(dir, 'spider'),
    run: join(dir, 'run'),
  };
}
