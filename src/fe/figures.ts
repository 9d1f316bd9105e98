/** The figures of lccd-fe. */
import { amount } from '../config/words.js';
import {
  counter,
  field,
  figureOf,
  gauge,
  some,
  someThat,
  type Status,
  type StatusOf,
} from '../daemon/figures.js';

export const FE_FIGURES = {
  connections: gauge('lcc_fe_connections', 'Connections of CPs', count => amount(count, 'connection')),
  max_connections: field<number>(),
  held: gauge('lcc_fe_held', 'CPs that are held until somebody has their provider', someThat('held')),
  homes: gauge('lcc_fe_homes', 'Homes of the LCC', some('home')),
  homes_free: gauge('lcc_fe_homes_free', 'Homes that no machine owns', {
    reasons: ofFreeHomes,
  }),
  map_age_seconds: gauge('lcc_fe_map_age_seconds', 'Time since the engine last said who owns which home', {
    reasons: ofMap,
  }),
  passed: counter('lcc_fe_passed_total', 'CPs that were passed on to a UNS', someThat('passed on')),
  refused: counter('lcc_fe_refused_total', 'CPs that were refused here', someThat('refused')),
  lost: counter('lcc_fe_lost_total', 'Conversations whose UNS was lost', someThat('lost')),
  listens: field<readonly string[]>(),
};

export type FeStatus = StatusOf<typeof FE_FIGURES>;

/** Above it something is wrong with the engine. */
const OLD_S = 10;

function ofFreeHomes(fe: Status): string | false {
  const free = figureOf(fe, 'homes_free');
  return free > 0 && `no machine has ${amount(free, 'home')}: CPs of ${free === 1 ? 'it' : 'them'} hear 102`;
}

function ofMap(fe: Status): string | false {
  const age = figureOf(fe, 'map_age_seconds');
  return age > OLD_S && `${String(fe['daemon'])} has heard nothing of the engine for ${Math.round(age)} s`;
}
