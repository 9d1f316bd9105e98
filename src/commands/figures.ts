/** The figures of every kind of daemon, as lccstat needs them: reasons are given in this order of kinds. */
import { BM_FIGURES } from '../bm/figures.js';
import { BOT_FIGURES } from '../bot/figures.js';
import { FE_FIGURES } from '../fe/figures.js';
import { HARD_FIGURES, SOFT_FIGURES } from '../clear/figures.js';
import { CU_FIGURES } from '../cu/server/figures.js';
import { KEEP_FIGURES } from '../keep/figures.js';
import { QM_FIGURES } from '../qm/figures.js';
import { RS_FIGURES } from '../rs/figures.js';
import { LCCD_FIGURES } from '../run/figures.js';
import type { FiguresByKind } from '../run/look/table.js';
import { SPIDER_FIGURES } from '../spider/transaction/figures.js';
import { STORE_FIGURES } from '../spider/store-server/figures.js';
import { URLD_FIGURES } from '../spider/url-server/figures.js';
import { UNS_FIGURES } from '../uns/figures.js';

export const FIGURES: FiguresByKind = {
  lccd: LCCD_FIGURES,
  'lccd-keep': KEEP_FIGURES,
  'lccd-qm': QM_FIGURES,
  'lccd-bm': BM_FIGURES,
  lccbot: BOT_FIGURES,
  'lccd-uns': UNS_FIGURES,
  'lccd-cu': CU_FIGURES,
  'lccd-fe': FE_FIGURES,
  'lccd-rs': RS_FIGURES,
  'lccd-hard': HARD_FIGURES,
  'lccd-soft': SOFT_FIGURES,
  lccspider: SPIDER_FIGURES,
  lccurld: URLD_FIGURES,
  lccstored: STORE_FIGURES,
};
