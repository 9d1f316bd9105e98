/** `[spider]`: spiders, their URL servers and store servers. */
import { DAY, GB, HOUR, KB, MB, MINUTE, SECOND } from '../amounts.js';
import { ENDPOINT, HEADER, METRICS_ENDPOINT } from '../forms.js';
import { bytes, count, flag, list, ms, text, type Section } from './rows.js';

export const SPIDER = {
  'spider.timeout_update_ms': ms(
    10 * SECOND,
    10,
    DAY,
    'Timeout_Update: a spider says WORKING four times in it; after three of them a URL server gives a url up',
  ),
  'spider.max_tries': count(
    3,
    1,
    1000,
    'spiders that are silent about a url, one after the other, before it has failed',
  ),
  'spider.per_host': count(1, 1, 65_535, 'urls of a host under way at a time'),
  'spider.host_delay_ms': ms(0, 0, DAY, 'from the end of a fetch to the next from the same host'),
  'spider.shuffle': flag(false, 'a URL server takes hosts, and the urls of a host, in any order'),
  'spider.robots': flag(false, 'a URL server has robots.txt obeyed'),
  'spider.max_spiders': count(64, 1, 60_000, 'spiders connected to a URL server at a time'),
  'spider.stall_timeout_ms': ms(
    MINUTE,
    10,
    HOUR,
    'time without a byte that a spider takes, before it is cut off',
  ),
  'spider.max_bad_lines': count(100, 0, 1_000_000, 'bad lines of a connection before it is closed'),
  'spider.grace_ms': ms(
    5 * SECOND,
    0,
    HOUR,
    'time for what is under way when a URL server or a spider is told to stop',
  ),
  'spider.urld_metrics_listen': text('', 'endpoint where the metrics of lccurld are read', METRICS_ENDPOINT),
  'spider.slots': count(64, 1, 65_535, 'urls that a spider has under way at a time'),
  'spider.timeout_req_ms': ms(
    MINUTE,
    10,
    DAY,
    'Timeout_Req: one url, from first to last, redirects included',
  ),
  'spider.max_doc_bytes': bytes(
    10 * MB,
    0,
    4 * GB - 1,
    'Max_Doc_Size: a document, decoded; of a longer one the beginning is taken; 0 = what a record has room for',
  ),
  'spider.max_redirects': count(10, 0, 100, 'redirects followed'),
  'spider.downgrade': flag(true, 'redirects from https to http are followed'),
  'spider.user_agent': text('lccspider/1', 'User-Agent; robots.txt is read for its first word', HEADER),
  'spider.allow_addresses': {
    type: 'list',
    default: [],
    doc: 'networks (CIDR) that a spider fetches from although they are not public',
    of: 'networks',
  },
  'spider.allow_private': flag(false, 'a spider fetches from private, loopback and link-local addresses'),
  'spider.insecure': flag(false, 'the certificates of https sites are not looked at'),
  'spider.spider_metrics_listen': text(
    '',
    'endpoint where the metrics of lccspider are read',
    METRICS_ENDPOINT,
  ),
  'spider.store_listen': list([], 'endpoints where spiders bring their records to lccstored', ENDPOINT),
  'spider.store_dir': text('', 'folder of a store server; empty: spider/store below $LCC_HOME'),
  'spider.store_compress': {
    type: 'string',
    default: 'none',
    oneOf: ['none', 'gzip'],
    doc: 'how records are stored from now on',
  },
  'spider.store_max_doc_bytes': bytes(
    64 * MB,
    0,
    4 * GB - 1,
    'document of a record; a longer one is taken for damage of its stream',
  ),
  'spider.store_max_pending_bytes': bytes(
    64 * MB,
    64 * KB,
    64 * GB,
    'records that are not on disk yet at which no more are read',
  ),
  'spider.store_max_ack_bytes': bytes(
    MB,
    4 * KB,
    GB,
    'acknowledgements waiting for a spider to read them at which no more are sent to it',
  ),
  'spider.store_stall_timeout_ms': ms(
    60 * SECOND,
    10,
    HOUR,
    'silence inside of a record after which a connection is cut',
  ),
  'spider.store_metrics_listen': text(
    '',
    'endpoint where the metrics of lccstored are read',
    METRICS_ENDPOINT,
  ),
} as const satisfies Section<'spider'>;
