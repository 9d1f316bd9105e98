/** The lines with which a site delivers what has changed, for crontab(5). */
import { rootsApart } from './roots-apart.js';

interface CrontabTerms {
  /** Directory of the commands. */
  bin: string;
  /** Folder of the pages. */
  docroot: string;
  pwdfile: string;
  pid: number;
  uns: string;
  urlprefix: string;
  /** Certificates that are trusted instead of the system's. */
  cafile?: string | undefined;
}

/** The shell leaves it as it is, or puts the home in front. */
const PLAIN = /^(?:\$HOME\/)?[\w@+=:,./-]+$/;

/** One of several lines of a provider. */
interface Part {
  /** Below the docroot; none: all of it. */
  dirs: readonly string[];
  /** Name of its own state; undefined: the line is the only one. */
  name?: string;
}

/** Every quarter of an hour; hidden files are left out. Of one line, for crontab(5) has no other. */
export function crontabLine(terms: CrontabTerms, { dirs, name }: Part = { dirs: [] }): string {
  const { bin, docroot, pwdfile, pid, uns, urlprefix, cafile } = terms;
  const ca = cafile !== undefined && uns.startsWith('tls:') ? ` --cafile=${quoted(cafile)}` : '';
  const path = [...new Set([bin, '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
  const found = dirs.length === 0 ? '.' : dirs.map(dir => quoted(`./${dir}`)).join(' ');
  const state = name === undefined ? `${pwdfile}.state` : `${pwdfile}.${name}.state`;
  const set = name === undefined ? '' : ' --set=partial';
  const command = [
    `PATH=${quoted(path)}; cd ${quoted(docroot)} && file2url --find ${found} -type f ! -path '*/.*'`,
    `lcccpstate -q --statefile=${quoted(state)}`,
    `lcccp -q --uns=${quoted(uns)} --pid=${pid} --pwdfile=${quoted(pwdfile)}${ca}${set} --urlprefix=${quoted(urlprefix)}`,
  ].join(' | ');
  // To cron a percent sign is the end of the command, unless it is escaped.
  return `*/15 * * * * ${command.replaceAll('%', '\\%')}`;
}

interface CrontabEntry {
  host: string;
  docroot: string;
  line: string;
}

/**
 * The lines for all roots of a provider: one for each host. A full set names all that a provider has, so of
 * several lines none sends one, and each keeps a state of its own.
 * @param terms `docroot` is that of the only host, or what those of several hosts are below, by their names
 */
export function crontabLines(
  roots: readonly string[],
  terms: Omit<CrontabTerms, 'urlprefix'>,
): CrontabEntry[] {
  const parts = rootsApart(roots);
  const isOnly = parts.length === 1;
  return parts.map(({ host, urlprefix, dirs }) => {
    const docroot = isOnly ? terms.docroot : `${terms.docroot}/${host}`;
    const part = { dirs, ...(isOnly ? {} : { name: host.replace(':', '-') }) };
    return { host, docroot, line: crontabLine({ ...terms, docroot, urlprefix }, part) };
  });
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
