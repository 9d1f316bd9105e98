/** A bare undici pool for each server: `node undici-pool.js FILE CONNECTIONS` sends DELETE for each url of a file. */
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';

const [file = '', connections = '1'] = process.argv.slice(2);
const pathsOf = new Map<string, string[]>();
for (const url of readFileSync(file, 'utf8').trimEnd().split('\n')) {
  const { origin, pathname } = new URL(url);
  const paths = pathsOf.get(origin);
  if (paths === undefined) pathsOf.set(origin, [pathname]);
  else paths.push(pathname);
}
await Promise.all([...pathsOf].map(([origin, paths]) => clear(origin, paths)));

async function clear(origin: string, paths: readonly string[]): Promise<void> {
  const pool = new Pool(origin, { connections: Number(connections), pipelining: 1 });
  const rest = paths.values();
  const send = async () => {
    for (const path of rest) {
      const { statusCode, body } = await pool.request({ path, method: 'DELETE' });
      await body.dump();
      if (statusCode !== 204) throw new Error(`${origin}${path}: status ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: Number(connections) }, send));
  await pool.close();
}
