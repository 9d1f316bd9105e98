/** How long the supervisor waits for what: taken from the settings in one place. */
import type { Config } from '../config/load.js';
import type { SupervisorOptions } from './supervisor.js';

export function supervisorTimes(
  config: Config,
): Pick<SupervisorOptions, 'restartMinMs' | 'restartMaxMs' | 'startTimeoutMs' | 'stopTimeoutMs'> {
  return {
    restartMinMs: config.get('lccd.restart_min_ms'),
    restartMaxMs: config.get('lccd.restart_max_ms'),
    startTimeoutMs: config.get('lccd.start_timeout_ms'),
    stopTimeoutMs: config.get('lccd.stop_timeout_ms'),
  };
}
