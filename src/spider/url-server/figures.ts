/** The figures of lccurld. */
import { amount } from '../../config/words.js';
import { counter, countOf, field, gauge, some, someThat, type StatusOf } from '../../daemon/figures.js';

const ENDED = {
  name: 'lcc_urld_urls_total',
  help: 'Urls that have come to their end, by how',
  label: 'how',
};

export const URLD_FIGURES = {
  spiders: gauge('lcc_urld_spiders', 'Spiders connected', count => amount(count, 'spider')),
  waiting: gauge('lcc_urld_waiting', 'Urls in memory that wait', someThat('waiting')),
  fetching: gauge('lcc_urld_fetching', 'Urls that spiders are fetching', someThat('being fetched')),
  credit: gauge('lcc_urld_credit', 'Urls that spiders have asked for and not got'),
  hosts: gauge('lcc_urld_hosts', 'Hosts of urls in memory', some('host')),
  sent: counter('lcc_urld_sent_total', 'Urls sent to spiders'),
  done: countOf(ENDED, 'done', someThat('done')),
  failed: countOf(ENDED, 'failed', someThat('failed')),
  again: counter('lcc_urld_again_total', 'Urls given to another spider', someThat('given to another spider')),
  unknown_transactions: counter(
    'lcc_urld_unknown_transactions_total',
    'WORKING and DONE of transactions that are over',
  ),
  bad_lines: counter('lcc_urld_bad_lines_total', 'Lines of spiders that make no sense', some('bad line')),
  listens: field<readonly string[]>(),
};

export type UrldStatus = StatusOf<typeof URLD_FIGURES>;
