/** `[rs]`: registration of providers by themselves. */
import { DAY, GB, HOUR, MB, MINUTE, SECOND } from '../amounts.js';
import { ENDPOINT, HTTP_URL, MAIL_ADDRESS, METRICS_ENDPOINT, PORT, SMTP_URL } from '../forms.js';
import { bytes, bytesPerS, count, list, ms, percent, text, type Section } from './rows.js';

export const RS = {
  'rs.listen': list(
    [],
    'endpoints of the Registration Server; lccd starts lccd-rs where there are any',
    ENDPOINT,
  ),
  'rs.url': text(
    '',
    'public address of the Registration Server with its base path; required with rs.listen',
    HTTP_URL,
  ),
  'rs.operator_listen': list(
    [],
    "endpoints of the operators' pages: on the loopback, or Unix sockets; empty: there are none",
    ENDPOINT,
  ),
  'rs.operator_url': text(
    '',
    "address of the operators' pages where a proxy stands in front of them; empty: one of the loopback",
    HTTP_URL,
  ),
  'rs.uns': text('', 'endpoint that providers are told to deliver to; empty: the first of uns.listen'),
  'rs.contact': text('', 'what applicants are told when they need a person: an address or a url'),
  'rs.mode': {
    type: 'string',
    default: 'approve',
    oneOf: ['open', 'approve', 'closed'],
    doc: 'a site that is proven is a provider at once, or when the operator approves; closed: no new pairs',
  },
  'rs.ports': list(['80', '443'], 'ports of sites that may register', PORT),
  'rs.vantages': list(
    [],
    'endpoints of robots elsewhere, lccbot --listen, which must see the same file; one of them may not; none, or at least two',
    ENDPOINT,
  ),
  'rs.proxies': {
    ...list([], 'networks whose X-Forwarded-For is believed, its last address'),
    of: 'networks',
  },
  'rs.max_db_bytes': bytes(2 * GB, MB, 1000 * GB, 'size of rs.db from which on there are no new pairs'),
  'rs.min_free_disk_percent': percent(
    10,
    0,
    90,
    'free space of its disk below which there are no new pairs; rs.min_free_disk_bytes if that is less',
  ),
  'rs.min_free_disk_bytes': bytes(2 * GB, 0, 10_000 * GB, 'the same in bytes, for a large disk'),
  'rs.pairs_per_network': count(5, 1, 100_000, 'pairs a day for one network: /24 or /48'),
  'rs.check_interval_ms': ms(10 * SECOND, 0, HOUR, 'time between two checks of a pair'),
  'rs.checks_per_hour': count(5, 1, 10_000, 'checks of a pair in an hour'),
  'rs.fetch_timeout_ms': ms(10 * SECOND, 100, 10 * MINUTE, 'longest fetch of a check'),
  'rs.retry_ms': ms(10 * SECOND, 10, HOUR, 'wait before an operation that was not answered is sent again'),
  'rs.metrics_listen': text('', 'endpoint where the metrics of lccd-rs are read', METRICS_ENDPOINT),
  'rs.first_pid': count(
    100_000,
    1,
    1_000_000_000,
    'lowest number of a provider that registers by itself; lccpidb add gives lower ones',
  ),
  'rs.filesmax': count(10_000, 0, 1_000_000_000, 'urls that such a provider may have at first'),
  'rs.spacemax_bytes': bytes(GB, 0, 1_000_000 * GB, 'bytes that it may have at first'),
  'rs.fullsetsallowed': count(3, 0, 1_000_000, 'full sets that it may send unasked at first'),
  'rs.bandwidth_bytes_per_s': bytesPerS(
    MB,
    0,
    1000 * GB,
    'rate at which it is fetched from at first; 0 = unlimited',
  ),
  'rs.priority': count(0, 0, 2, 'its priority at first'),
  'rs.leave_ms': ms(
    7 * DAY,
    0,
    365 * DAY,
    'time for which one that leaves can come back, and a root given up with a lost password, before what is held is removed',
  ),
  'rs.max_roots': count(20, 1, 1000, 'roots that it may have'),
  'rs.providers_per_root': count(3, 1, 1000, 'such providers that may have the same root'),
  'rs.registrations_per_day': count(
    100,
    0,
    1_000_000,
    'registrations that the Queue Manager carries out a day',
  ),
  'rs.series_ms': ms(
    10 * SECOND,
    100,
    HOUR,
    "time between two figures of the operators' graphs, and two questions to the Queue Manager",
  ),
  'rs.idle_timeout_ms': ms(
    3 * MINUTE,
    SECOND,
    HOUR,
    'time without a line from a Registration Server after which the Queue Manager closes the connection',
  ),
  'rs.email': {
    type: 'string',
    default: 'optional',
    oneOf: ['optional', 'required', 'off'],
    doc: 'whether a site may, or must, have an address for mail that is confirmed; without rs.smtp none can',
  },
  'rs.smtp': text(
    '',
    'what takes mail: the path of a sendmail, smtp://host:port or smtps://host:port; empty: none is sent',
    SMTP_URL,
  ),
  'rs.smtp_tls': {
    type: 'string',
    default: 'auto',
    oneOf: ['auto', 'always', 'never'],
    doc: 'STARTTLS with that server; auto: always, unless it is on the loopback',
  },
  'rs.smtp_cafile': text('', 'certificates (PEM) that may have signed its own; empty: those of the system'),
  'rs.smtp_password_file': text('', 'file with the password of the login in rs.smtp'),
  'rs.mail_from': text('', 'address that mail is from; required with rs.smtp', MAIL_ADDRESS),
  'rs.operator_mail': text('', 'address of the operator, where it is said that sites wait', MAIL_ADDRESS),
  'rs.mails_per_address': count(3, 1, 1000, 'mails a day to one mailbox'),
  'rs.mail_gather_ms': ms(MINUTE, 0, DAY, 'time for which news for an address is gathered into one mail'),
} as const satisfies Section<'rs'>;
