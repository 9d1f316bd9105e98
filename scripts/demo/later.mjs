// node later.mjs SECONDS: the demo's clock. What the LCC below $LCC_HOME has fetched, it has fetched so much earlier.
import { join } from 'node:path';
import { openDatabase } from '../../dist/src/db/sqlite/open.js';

const seconds = Number(process.argv[2]);
const db = openDatabase(join(process.env.LCC_HOME, 'lcc.db'));
try {
  db.exec(`BEGIN IMMEDIATE;
    UPDATE lccurl SET fetched_time = fetched_time - ${seconds};
    UPDATE visit SET checked = checked - ${seconds}, failsince = failsince - ${seconds};
    UPDATE audit SET began = began - ${seconds}, asked = asked - ${seconds}, again = again - ${seconds},
      second = second - ${seconds};
    COMMIT`);
} finally {
  db.close();
}
