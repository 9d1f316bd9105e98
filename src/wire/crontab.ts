/** The line with which a site delivers what has changed, for crontab(5). */

export interface CrontabTerms {
  /** Directory of the commands. */
  bin: string;
  /** Of the pages. */
  docroot: string;
  pwdfile: string;
  pid: number;
  uns: string;
  urlprefix: string;
}

/** The shell leaves it as it is, or puts the home in front. */
const PLAIN = /^(?:\$HOME\/)?[\w@+=:,./-]+$/;

/** Every quarter of an hour; hidden files are left out. Of one line, for crontab(5) has no other. */
export function crontabLine({ bin, docroot, pwdfile, pid, uns, urlprefix }: CrontabTerms): string {
  const path = [...new Set([bin, '/usr/local/bin', '/usr/bin', '/bin'])].join(':');
  const command = [
    `PATH=${quoted(path)}; cd ${quoted(docroot)} && file2url --find . -type f ! -path '*/.*'`,
    `lcccpstate -q --statefile=${quoted(`${pwdfile}.state`)}`,
    `lcccp -q --uns=${quoted(uns)} --pid=${pid} --pwdfile=${quoted(pwdfile)} --urlprefix=${quoted(urlprefix)}`,
  ].join(' | ');
  // To cron a percent sign is the end of the command, unless it is escaped.
  return `*/15 * * * * ${command.replaceAll('%', '\\%')}`;
}

function quoted(word: string): string {
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
