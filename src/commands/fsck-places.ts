/** The places at which lccfsck looks, as the settings say. */
import type { Config } from '../config/types.js';

export function fsckPlaces(config: Config) {
  const { home } = config;
  return {
    dbPath: home.db,
    storeDir: home.store,
    machineId: config.get('bm.machine_id'),
    unsSpoolDir: home.unsSpool,
    fsmSpoolDir: home.fsmSpool,
    clearDir: home.clear,
    shard: config.get('cluster.shard'),
  };
}
