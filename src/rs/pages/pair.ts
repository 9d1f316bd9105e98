/** The page of a pair: what to put where, how it stands, and what comes next. */
import { html } from 'hono/html';
import { formatUntil } from '../../config/words.js';
import type { PairKind, Registration, RegistrationState } from '../../db/rs/registrations.js';
import { crontabLine } from '../../wire/crontab.js';
import type { AddressStanding } from '../mail/mailing.js';
import type { IssuedPair } from '../registrar.js';
import { capital, codeBlock, type Markup } from './layout.js';
import type { ShownOnce } from './shown-once.js';
import { factsOf } from './table.js';

/** Places on the machine of a site, as its line has them before somebody changes them. */
export const ON_SITE = { bin: '/usr/local/bin', docroot: '/var/www', pwdfile: '$HOME/.lcc-password' };

/** Secrets that are shown once. */
export interface PairSecrets {
  secret: string;
  password: string;
}

/** @returns the path of its page, which shows it once */
export function keptPair(
  { capability, secret, password }: IssuedPair,
  pairSecrets: ShownOnce<PairSecrets>,
): string {
  pairSecrets.keep(capability, { secret, password });
  return `/pair/${capability}`;
}

export interface PairView {
  registration: Registration;
  secrets: PairSecrets | undefined;
  base: string;
  /** How the commands are installed. */
  install: Markup;
  /** Where its forms are sent: the address of the page. */
  here: string;
  uns: string;
  checksLeft: number;
  nowMs: number;
  address: AddressStanding;
}

const REGISTERED = ['good', 'is registered'] as const;
/** How each state stands, and in words. */
export const STATES: Record<RegistrationState, readonly [tone: 'good' | 'wait' | 'bad', words: string]> = {
  issued: ['wait', 'waits for the file'],
  checking: ['wait', 'is being checked'],
  proven: ['good', 'is proven'],
  waiting: ['wait', 'is proven, and waits for approval'],
  applying: ['wait', 'is proven, and is being set up'],
  active: ['good', 'is done'],
  refused: ['bad', 'is refused'],
  expired: ['bad', 'is expired'],
  cancelled: ['bad', 'is cancelled'],
};

const THIS: Record<PairKind, string> = {
  new: 'This registration',
  root: 'This directory',
  reset: 'This reset',
  rotation: 'This password',
};

/** Title of the page. */
export function titleOfPair({ kind, prefix, pid }: Registration): string {
  return kind === 'reset' ? `A new password for provider ${pid}` : prefix;
}

export function pairBody(view: PairView): Markup {
  const { registration, secrets } = view;
  const { prefix, pid, state, kind, endsMs } = registration;
  const [tone, words] = state === 'active' && kind === 'new' ? REGISTERED : STATES[state];
  return html`<h1 class="address">${titleOfPair(registration)}</h1>
    <p class="standing"><span class="state ${tone}">${words}</span></p>
    ${whyNot(registration)} ${secrets === undefined ? '' : shownOnce(secrets, pid)} ${nextStep(view)}
    <h2>${THIS[kind]}</h2>
    ${factsOf(
      [
        ['Provider', String(pid)],
        ['Directory', prefix, 'mono'],
        ['E-mail', addressText(view.address)],
        ['Good until', endsMs === undefined ? undefined : formatUntil(endsMs, view.nowMs)],
        ['Checks left', state === 'issued' ? String(view.checksLeft) : undefined],
      ],
      ' card narrow',
    )}`;
}

function addressText({ confirmed, pending }: AddressStanding): string | undefined {
  if (confirmed !== undefined) return `${confirmed}, confirmed`;
  return pending === undefined
    ? undefined
    : `${pending}: follow the link in the mail that goes there. Only one is ever sent to an address that nobody confirms.`;
}

function whyNot({ reason }: Registration): Markup | string {
  if (reason === undefined) return '';
  return html`<div class="note bad" role="alert">
    <h2>${capital(reason.what)}</h2>
    <p>${capital(reason.do)}.</p>
  </div>`;
}

/** A password that replaces another one. */
export function newPasswordNote(pid: number, password: string): Markup {
  return html`<h1>Your new password</h1>
    <div class="note wait">
      <h2>Keep this now: it is shown only once</h2>
      ${factsOf([
        ['Provider number', String(pid), 'mono'],
        ['Password', password, 'mono'],
      ])}
      <p>Put it into the file that your crontab line names after <code>--pwdfile</code>:</p>
      ${passwordLine(password)}
    </div>`;
}

function passwordLine(password: string): Markup {
  const line = `(umask 077; echo '${password}' > ~/.lcc-password)`;
  return codeBlock(line, 'a command that writes the password into a file');
}

/** A pair for another directory has no password: the one that there is stays. */
function shownOnce({ secret, password }: PairSecrets, pid: number): Markup {
  return html`<div class="note wait">
    <h2>Keep this now: it is shown only once</h2>
    ${factsOf([
      ['Provider number', String(pid), 'mono'],
      ['Password', password === '' ? undefined : password, 'mono'],
      ['Secret for the file', secret, 'mono'],
    ])}
    ${
      password === ''
        ? ''
        : html`<p>
              The password belongs into a file that only you can read. The secret is for everybody to read on
              your site.
            </p>
            ${passwordLine(password)}`
    }
  </div>`;
}

function nextStep(view: PairView): Markup | string {
  switch (view.registration.state) {
    case 'issued':
      return fileStep(view);
    case 'checking':
      return html`<div class="note wait">
        <p>The site is being asked for the file. This page looks again by itself.</p>
      </div>`;
    case 'proven':
    case 'waiting':
      return html`<div class="note wait">
        <h2>Now the operator decides</h2>
        <p>You may remove the file. Come back to this page to see what was decided; keep its address.</p>
        <p><a href="${view.here}">Look again</a></p>
      </div>`;
    case 'applying':
      return html`<div class="note wait"><p>This takes a moment. This page looks again by itself.</p></div>`;
    case 'active':
      return activeStep(view);
    case 'refused':
    case 'expired':
    case 'cancelled':
      return '';
  }
}

function fileStep({ registration, secrets, here }: PairView): Markup {
  const { prefix, file } = registration;
  return html`<h2>Put the file on your site</h2>
    <ol class="steps">
      <li>
        Make a file with the name <code>${file}</code> in the directory that <code>${prefix}</code> is. It
        holds the secret and nothing else.
        ${
          secrets === undefined
            ? html`<p class="hint">The secret was shown once. If it is lost, cancel and begin again.</p>`
            : codeBlock(`printf '%s\\n' '${secrets.secret}' > ${file}`, 'a command that writes the file')
        }
      </li>
      <li>
        Look at it with a browser: <a href="${prefix + file}" rel="noreferrer">${prefix + file}</a>
        ${codeBlock(`curl '${prefix + file}'`, 'a command that looks at the file')}
      </li>
      <li>Say that it is there. The site is asked at once.</li>
    </ol>
    ${
      registration.kind === 'reset'
        ? html`<p class="narrow">
            The file has to be in every directory that you have registered. Have you lost one? Check once,
            then you can give it up: what is kept of it stays for some days, in which you can prove it again.
          </p>`
        : ''
    }
    <div class="actions">
      <form method="post" action="${here}/check"><button>It is there</button></form>
      ${
        registration.reason?.code === 'roots'
          ? html`<form method="post" action="${here}/check">
              <input type="hidden" name="give_up" value="yes" />
              <button class="danger">Go on, and give up directories without the file</button>
            </form>`
          : ''
      }
      <form method="post" action="${here}/cancel"><button class="plain">Cancel</button></form>
    </div>`;
}

function activeStep({ registration, install, uns, base }: PairView): Markup {
  const { prefix, pid, kind } = registration;
  if (kind === 'root')
    return html`<div class="note good">
      <h2>The directory is yours</h2>
      <p>You may remove the file. What you announce below it is fetched from now on.</p>
      <p><a href="${base}/me/roots">Your directories</a></p>
    </div>`;
  if (kind === 'reset')
    return html`<div class="note good">
      <h2>The new password is in use</h2>
      <p>
        You may remove the file. Put the password into the file that your crontab line names after
        <code>--pwdfile</code>; the old one is void.
      </p>
      <p><a class="button" href="${base}/login">Log in</a></p>
    </div>`;
  const line = crontabLine({ ...ON_SITE, pid, uns, urlprefix: prefix });
  return html`<div class="note good">
      <h2>Your site is registered</h2>
      <p>You may remove the file. What changes is announced by three commands and a pipe.</p>
    </div>
    <h2>The commands</h2>
    ${install}
    <h2>The line for your crontab</h2>
    <p>
      Put the directory of your pages in the place of <code>/var/www</code>. The password is in
      <code>~/.lcc-password</code>.
    </p>
    ${codeBlock(line, 'the line for your crontab')}`;
}
