/** Kinds of settings, for code that is told which one to read. */
import type { NumberKey, SettingKey } from './settings/index.js';

/** Where the metrics of a kind of daemon are read. */
export type MetricsKey = Extract<SettingKey, `${string}.${'' | `${string}_`}metrics_listen`>;

/** Number of ports of an endpoint that stands for several in a row. */
export const METRICS_PORTS: Partial<Record<MetricsKey, NumberKey>> = { 'bot.metrics_listen': 'bm.bots' };
