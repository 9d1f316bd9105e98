/** The drivers by name. */
import { LccError, messageOf } from '../../lib/errors.js';
import { davDriver } from './dav.js';
import { nginxRefreshDriver } from './nginx-refresh.js';
import { templateDriver } from './template.js';
import type { Driver, DriverRail } from './types.js';
import { banDriver, varnishDriver, xkeyDriver } from './varnish.js';

const DRIVERS: Readonly<Record<string, (rail: DriverRail) => Driver>> = {
  'apache-dav': rail => davDriver(rail, true),
  'nginx-dav': rail => davDriver(rail, false),
  varnish: varnishDriver,
  'varnish-xkey': xkeyDriver,
  'varnish-ban': banDriver,
  'nginx-refresh': nginxRefreshDriver,
  http: templateDriver,
};

export const DRIVER_NAMES: readonly string[] = Object.keys(DRIVERS);

/**
 * The driver of a rail.
 * @param opts JSON, as it is stored
 * @throws LccError `usage` when there is no such driver, or it does not take the options
 */
export function driverOf(rail: { name: string; driver: string; opts: string }): Driver {
  const make = Object.hasOwn(DRIVERS, rail.driver) ? DRIVERS[rail.driver] : undefined;
  if (make === undefined)
    throw new LccError(
      'usage',
      `rail ${rail.name}: no driver ${rail.driver}; there are ${DRIVER_NAMES.join(', ')}`,
    );
  return make({ name: rail.name, opts: optionsOf(rail) });
}

/** True if pages are put on a rail, as against a cache that is told to get them. */
export function isPutOn(rail: Parameters<typeof driverOf>[0]): boolean {
  try {
    return driverOf(rail).renew === 'put';
  } catch (error) {
    if (error instanceof LccError) return false;
    throw error;
  }
}

function optionsOf({ name, opts }: { name: string; opts: string }): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(opts);
  } catch (error) {
    throw new LccError('usage', `rail ${name}: its options are no JSON: ${messageOf(error)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new LccError('usage', `rail ${name}: its options are no JSON object`);
  return value as Readonly<Record<string, unknown>>;
}
