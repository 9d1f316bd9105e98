/**
 * Every setting of the LCC in one table: key in lcc.toml, unit, default, bounds, meaning. lcc.toml(5) is compared with
 * it by a test, and a refusal caused by a limit names the key that raises it (`limitText`).
 *
 * A key is `section.name`; numbers carry their unit in the name. In the file a number may also be written with a unit:
 * `"10s"`, `"1.5h"`, `"64KB"` (KB = 1024 bytes), `"2GB"`.
 */

import { DAY, formatAmount, GB, HOUR, KB, MB, MINUTE, SECOND, type Unit } from './amounts.js';
import { HEADER, METRICS_ENDPOINT, MIMETYPES, NAME, type Form } from './forms.js';

export type SettingRow =
  | {
      type: 'number';
      unit: Unit;
      default: number;
      min: number;
      max: number;
      doc: string;
      oneOf?: readonly number[];
    }
  | { type: 'boolean'; default: boolean; doc: string }
  | { type: 'string'; default: string; doc: string; oneOf?: readonly string[]; form?: Form }
  | { type: 'list'; default: readonly string[]; doc: string; of?: 'networks'; form?: Form; needsOne?: true };

const count = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'count', default: value, min, max, doc }) as const;
const ms = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'ms', default: value, min, max, doc }) as const;
const bytes = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'bytes', default: value, min, max, doc }) as const;
const percent = (value: number, min: number, max: number, doc: string) =>
  ({ type: 'number', unit: 'percent', default: value, min, max, doc }) as const;
const flag = (value: boolean, doc: string) => ({ type: 'boolean', default: value, doc }) as const;
const text = (value: string, doc: string, form?: Form) =>
  ({ type: 'string', default: value, doc, ...(form === undefined ? {} : { form }) }) as const;
const list = (value: readonly string[], doc: string, form?: Form) =>
  ({ type: 'list', default: value, doc, ...(form === undefined ? {} : { form }) }) as const;

export const SETTINGS = {
  // What one message may look like, whoever sends it (limits.md, XML)
  'xml.token_bytes': bytes(64 * KB, 1 * KB, 16 * MB, 'longest tag, attribute value or run of text'),
  'xml.depth': count(8, 4, 64, 'deepest nesting of elements'),
  'xml.attributes': count(32, 12, 256, 'attributes of one element'),
  'xml.name_bytes': bytes(256, 32, 4 * KB, 'longest element or attribute name'),
  'xml.url_bytes': bytes(8 * KB, 256, 64 * KB, 'longest url'),

  // What a site keeps of sets whose acceptance it did not hear of
  'cp.max_doubtful_urls': count(
    100_000,
    0,
    1_000_000_000,
    'urls that are gone, and that only such sets name',
  ),

  'net.allow_plain': flag(false, 'listen for plain text (not tls:) on addresses other than loopback'),
  'net.tls_cert': text('', 'PEM certificate chain of tls: listeners; read again on SIGHUP'),
  'net.tls_key': text('', 'PEM private key of tls: listeners'),
  'net.tls_ca': text('', 'PEM certificates trusted by tls: connections instead of the built-in ones'),

  // Messages between the daemons
  'wire.max_pending_bytes': bytes(8 * MB, 64 * KB, GB, 'messages waiting for a peer to read them'),
  'wire.stall_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time a peer may leave half of that unread'),
  'wire.hello_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time from connecting to saying who is there'),
  'wire.max_hello_bytes': bytes(
    128 * KB,
    4 * KB,
    16 * MB,
    'read of a peer before it has said who it is, be they comments or white space; of a CP also before its set',
  ),
  'wire.ping_interval_ms': ms(
    15 * SECOND,
    100,
    HOUR,
    'a Bot Manager, and a robot, is pinged this often; silent for three times this it is given up',
  ),
  'wire.max_controls': count(100, 1, 60_000, 'connections to the control socket of a daemon at a time'),

  'uns.listen': { ...list(['127.0.0.1:9000'], 'endpoints CPs connect to'), needsOne: true },
  'uns.mime': {
    ...list(['*/*'], 'mimetypes accepted into this LCC, as type/subtype or type/*', MIMETYPES),
    needsOne: true,
  },
  'uns.max_connections': count(8000, 1, 60_000, 'connections at a time'),
  'uns.max_connections_per_address': count(32, 1, 60_000, 'connections at a time from one address'),
  'uns.max_connections_per_provider': count(2, 1, 1000, 'sessions at a time of one provider'),
  'uns.login_timeout_ms': ms(10 * SECOND, 100, 10 * MINUTE, 'time from connecting to a complete init'),
  'uns.idle_timeout_ms': ms(60 * SECOND, 100, HOUR, 'time without a byte'),
  'uns.min_rate_bytes_per_s': {
    type: 'number',
    unit: 'bytes_per_s',
    default: 1 * KB,
    min: 0,
    max: 100 * MB,
    doc: 'slowest average rate while a set is open, after the first idle_timeout',
  } as const,
  'uns.session_timeout_ms': ms(HOUR, SECOND, 7 * DAY, 'longest session'),
  'uns.max_set_urls': count(1_000_000, 1, 100_000_000, 'urls in one set'),
  'uns.max_set_bytes': bytes(GB, 1 * KB, 100 * GB, 'size of one set'),
  'uns.max_spool_bytes': bytes(
    2 * GB,
    1 * MB,
    10_000 * GB,
    'size of the spool before CPs are told to come back later',
  ),
  'uns.min_free_disk_percent': percent(
    10,
    0,
    90,
    'free space of the spool disk below which CPs are told the same; uns.min_free_disk_bytes if that is less',
  ),
  'uns.min_free_disk_bytes': bytes(
    2 * GB,
    0,
    10_000 * GB,
    'free space of the spool disk that is enough, however large the disk is',
  ),
  'uns.linger_timeout_ms': ms(
    5 * SECOND,
    10,
    10 * MINUTE,
    'time a CP has to read the last reply before it is cut',
  ),
  'uns.max_reply_bytes': bytes(
    1 * MB,
    1 * KB,
    1 * GB,
    'replies waiting for a CP to read them before its set is read on',
  ),
  'uns.qm_connections': count(
    16,
    1,
    64,
    'connections to the Queue Manager: sets of so many providers sent at a time, one large one among them',
  ),
  'uns.qm_timeout_ms': ms(
    10 * MINUTE,
    SECOND,
    DAY,
    'time for the Queue Manager to answer one set, or to read on in the middle of one',
  ),
  'uns.id': text('uns', 'name of this UNS and its spool; differs between the UNSes of one LCC_HOME', NAME),
  'uns.errors_shown': count(100, 1, 100_000, 'errors of earlier fetches shown in one init_accepted'),
  'uns.metrics_listen': text('', 'endpoint where the metrics of lccd-uns are read', METRICS_ENDPOINT),

  'qm.max_connections': count(1000, 1, 60_000, 'connections of UNSes at a time, and as many of Bot Managers'),
  'qm.max_queue_urls': count(5_000_000, 1, 1_000_000_000, 'urls queued at which UNSes are shut out'),
  'qm.reopen_percent': percent(80, 1, 99, 'share of max_queue_urls below which they are let in again'),
  'qm.slice_urls': count(40_000, 1, 100_000, 'most urls absorbed in one transaction'),
  'qm.lane_window': count(
    64,
    1,
    1000,
    'urls of one provider on their way to a robot at a time, fetched one by one',
  ),
  'qm.shared_window': count(
    1024,
    0,
    100_000,
    'urls on their way to a Bot Manager that its lanes share while that gives each more than lane_window',
  ),
  'qm.overbook_percent': percent(25, 0, 400, 'requests sent beyond the free slots of a Bot Manager'),
  'qm.slots': {
    ...count(24, 24, 168, 'hours of the period that masks and tod are about: 24 = a day, 168 = a week'),
    oneOf: [24, 168],
  } as const,
  'qm.bandwidth_bytes_per_s': {
    type: 'number',
    unit: 'bytes_per_s',
    default: 0,
    min: 0,
    max: 100 * GB,
    doc: 'fetched from all providers together; 0 = unlimited',
  } as const,
  'qm.pace_ms': ms(
    0,
    0,
    HOUR,
    'pause between two fetches from a provider that has none of its own; 0 = none',
  ),
  'qm.max_connections_per_host': count(8, 1, 10_000, 'fetches at a time from one host, of all robots'),
  'qm.delay_grid_ms': ms(4 * SECOND, 100, HOUR, 'width of a cell of the delay table'),
  'qm.delay_horizon_ms': ms(HOUR, MINUTE, DAY, 'reach of its cells; longer delays stand under their hour'),
  'qm.ageing_ms': ms(10 * MINUTE, SECOND, 30 * DAY, 'wait for which a provider counts one priority higher'),
  'qm.retries': count(6, 0, 100, 'tries after the first for a url that failed temporarily'),
  'qm.retry_delay_ms': ms(10 * SECOND, 0, DAY, 'wait before a bad url is tried again'),
  'qm.backoff_min_ms': ms(10 * SECOND, 10, DAY, 'first wait of a provider whose site does not answer'),
  'qm.backoff_max_ms': ms(DAY, 10, 30 * DAY, 'longest wait of a provider whose site does not answer'),
  'qm.errors_kept': count(1000, 1, 1_000_000, 'errors kept for a provider until it connects'),
  'qm.tombstone_ms': ms(
    90 * DAY,
    HOUR,
    10_000 * DAY,
    'time for which deletions are remembered for content users',
  ),
  'qm.fsm_page_files': count(
    10_000,
    1,
    1_000_000,
    'deletions for a machine that is away that move to spool/fsm at a time',
  ),
  'qm.fsm_away_ms': ms(MINUTE, 0, 30 * DAY, 'time for which a machine must be away before they do'),
  'qm.fsm_max_bytes': bytes(GB, 1 * MB, 10_000 * GB, 'size of spool/fsm at which they stay in lcc.db'),
  'qm.sync_interval_ms': ms(
    10 * SECOND,
    100,
    HOUR,
    'time between two sync points of a store: what came after the last is checked when its machine connects',
  ),
  'qm.check_window': count(64, 1, 10_000, 'files of a machine read at a time for that check'),
  'qm.full_set_period_ms': ms(
    30 * DAY,
    HOUR,
    10_000 * DAY,
    'period in which fullsetsallowed full sets may be sent',
  ),
  'qm.old_files_ms': ms(
    90 * DAY,
    0,
    10_000 * DAY,
    'silence of a provider after which it is asked for a full set; 0 = never',
  ),
  'qm.expire_ms': ms(
    0,
    0,
    10_000 * DAY,
    'time after which content that nobody confirmed is removed; 0 = never',
  ),
  'qm.fuse_percent': percent(
    50,
    0,
    100,
    "share of a provider's content above which a set may not remove it unconfirmed; 100 = never held",
  ),
  'qm.fuse_urls': count(
    1000,
    0,
    1_000_000_000,
    'number of urls above which a set may not remove them unconfirmed',
  ),
  'qm.metrics_listen': text('', 'endpoint where the metrics of lccd-qm are read', METRICS_ENDPOINT),

  'cu.listen': list([], 'endpoints content users connect to; lccd starts lccd-cu where there are any'),
  'cu.readers_file': text('', 'who may read over TCP and TLS; empty: $LCC_HOME/readers'),
  'cu.anonymous': flag(false, 'let clients over TCP and TLS read without credentials'),
  'cu.max_connections': count(256, 1, 60_000, 'connections at a time'),
  'cu.max_connections_per_address': count(32, 1, 60_000, 'connections at a time from one address'),
  'cu.query_timeout_ms': ms(
    60 * SECOND,
    10,
    HOUR,
    'time for a complete query, from the connection or the last answer',
  ),
  'cu.stall_timeout_ms': ms(60 * SECOND, 10, HOUR, 'time without a byte that the client reads'),
  'cu.answer_timeout_ms': ms(
    6 * HOUR,
    10,
    30 * DAY,
    'longest answer; the client goes on from the last url it got',
  ),
  'cu.max_query_bytes': bytes(16 * KB, 256, 1 * MB, 'length of a query, and of what surrounds it'),
  'cu.metrics_listen': text('', 'endpoint where the metrics of lccd-cu are read', METRICS_ENDPOINT),

  'lccd.restart_min_ms': ms(
    100,
    1,
    HOUR,
    'wait before a child of lccd that died is started again, doubled each time',
  ),
  'lccd.restart_max_ms': ms(
    5 * SECOND,
    1,
    HOUR,
    'longest such wait; a child that lived longer starts afresh',
  ),
  'lccd.start_timeout_ms': ms(30 * SECOND, 100, HOUR, 'time in which all children of lccd must be ready'),
  'lccd.stop_timeout_ms': ms(
    9 * SECOND,
    100,
    HOUR,
    'time in which they must have stopped before they are killed',
  ),
  'lccd.metrics_listen': text('', 'endpoint where the metrics of lccd are read', METRICS_ENDPOINT),

  'bm.slots': count(64, 1, 10_000, 'fetches at a time of each robot lccd starts'),
  'bm.bots': count(1, 1, 64, 'robots lccd starts'),
  'bm.machine_id': text('local', 'name of this machine in the LCC', NAME),
  'bm.grace_ms': ms(5 * MINUTE, 0, 30 * DAY, 'time for which the file of replaced or deleted content stays'),
  'bm.max_waiting': count(100_000, 1, 1_000_000, 'requests waiting for robots at which no more are read'),
  'bm.max_robots': count(1000, 1, 10_000, 'robots, or with a relay Bot Managers, connected at a time'),
  'bm.lane_window': count(
    256,
    1,
    1000,
    'requests of one lane at a robot at a time; all but the first wait there for their turn',
  ),
  'bm.max_losses': count(
    5,
    1,
    1000,
    'robots that may end while fetching a url before it is given up for now',
  ),
  'bm.attempt_timeout_ms': ms(
    5 * MINUTE,
    SECOND,
    DAY,
    'time a robot may take for one fetch before it is cut off; longer than bot.total_timeout_ms',
  ),
  'bm.robot_wait_ms': ms(
    5 * SECOND,
    0,
    HOUR,
    'time that requests wait where no robot is before they go back to the Queue Manager',
  ),
  'bm.overbook_percent': percent(
    25,
    0,
    400,
    'lanes that a relay gives a Bot Manager below it beyond the slots of that',
  ),
  'bm.name_block': count(1024, 1, 1_000_000, 'file names reserved at a time; a crash loses those not used'),
  'bm.min_free_disk_percent': percent(
    15,
    0,
    90,
    'free space of the store disk below which nothing is stored (code 613); bm.min_free_disk_bytes if that is less',
  ),
  'bm.min_free_disk_bytes': bytes(
    4 * GB,
    0,
    10_000 * GB,
    'free space of the store disk that is enough, however large the disk is',
  ),
  'bm.metrics_listen': text('', 'endpoint where the metrics of lccd-bm are read', METRICS_ENDPOINT),

  'bot.allow_addresses': {
    type: 'list',
    default: [] as readonly string[],
    doc: 'networks (CIDR) fetched from although they are not public',
    of: 'networks',
  } as const,
  'bot.user_agent': text(
    'lccbot/0.1 (+local content cache)',
    'User-Agent header; name a contact in it',
    HEADER,
  ),
  'bot.connect_timeout_ms': ms(5 * SECOND, 10, 10 * MINUTE, 'time to connect'),
  'bot.headers_timeout_ms': ms(30 * SECOND, 10, 10 * MINUTE, 'time to the response headers'),
  'bot.idle_timeout_ms': ms(30 * SECOND, 10, 10 * MINUTE, 'time without a byte of the body'),
  'bot.min_rate_bytes_per_s': {
    type: 'number',
    unit: 'bytes_per_s',
    default: 100,
    min: 0,
    max: 100 * MB,
    doc: 'slowest average rate of an answer; 0 = any',
  } as const,
  'bot.min_rate_window_ms': ms(30 * SECOND, 10, HOUR, 'time for which a body may be slower than that'),
  'bot.slow_after_ms': ms(
    5 * SECOND,
    10,
    HOUR,
    'time after which an answer slower than that takes no slot from others',
  ),
  'bot.drain_timeout_ms': ms(SECOND, 0, MINUTE, 'time to the end of an answer whose outcome is known'),
  'bot.total_timeout_ms': ms(120 * SECOND, 10, HOUR, 'one fetch, from first to last'),
  'bot.max_content_bytes': bytes(16 * MB, 1, 100 * GB, 'content, decoded'),
  'bot.max_header_bytes': bytes(16 * KB, 1 * KB, 1 * MB, 'response headers'),
  'bot.http2': flag(true, 'speak HTTP/2 with https sites that offer it'),
  'bot.max_redirects': count(10, 0, 100, 'redirects followed'),
  'bot.keep_alive_ms': ms(
    4 * SECOND,
    1,
    HOUR,
    'time an idle connection is kept, unless the server asks for less',
  ),
  'bot.max_connections_per_host': count(8, 1, 10_000, 'fetches at a time from one host, redirects included'),
  'bot.max_idle_connections': count(256, 1, 60_000, 'idle connections kept'),
  'bot.max_connections': count(100, 1, 60_000, 'connections to lccbot --listen at a time'),
  'bot.max_waiting': count(20_000, 1, 1_000_000, 'requests waiting for a slot at which no more are read'),
  'bot.sync_content': flag(false, 'sync every file before its fetch counts as done'),
  'bot.metrics_listen': text('', 'endpoint where the metrics of lccbot are read', METRICS_ENDPOINT),
} as const satisfies Record<string, SettingRow>;

export type SettingKey = keyof typeof SETTINGS;
type Row<K extends SettingKey> = (typeof SETTINGS)[K];
export type SettingValue<K extends SettingKey> = Row<K>['type'] extends 'number'
  ? number
  : Row<K>['type'] extends 'boolean'
    ? boolean
    : Row<K>['type'] extends 'string'
      ? string
      : readonly string[];

/** `64 KB (xml.token_bytes)`: a limit as it appears in the message that refuses. */
export function limitText(key: SettingKey, value: number): string {
  const row: SettingRow = SETTINGS[key];
  return `${formatAmount(value, row.type === 'number' ? row.unit : 'count')} (${key})`;
}
