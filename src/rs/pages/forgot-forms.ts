/** The two ways to another password for one that is lost: a mail, and a file on the site. */
import { html } from 'hono/html';
import type { RsRequestRefused } from '../refusal.js';
import { fieldOf, type Markup } from './layout.js';
import { summaryOf, wrongIn } from './me-parts.js';

export interface ForgotView {
  base: string;
  /** False: there is the file only. */
  sendsMail: boolean;
  /** As they were typed. */
  typed: Readonly<Record<'who' | 'number' | 'url', string>>;
  refused?: RsRequestRefused;
}

export function forgotBody(view: ForgotView): Markup {
  return html`<h1>Forgotten password</h1>
    ${summaryOf(view.refused, { who: 'who', number: 'number', address: 'url' })}
    <p class="lead narrow">
      A password cannot be found again, only
      replaced${view.sendsMail ? ', in one of two ways' : ': by a file on your site'}.
    </p>
    ${view.sendsMail ? byMail(view) : ''} ${byFile(view)}`;
}

function byMail({ base, typed, refused }: ForgotView): Markup {
  return html`<form class="card narrow" method="post" action="${base}/forgot" novalidate>
    <h2>By mail</h2>
    <p>A link to another password goes to your confirmed address.</p>
    ${fieldOf({ name: 'who', label: 'Provider number, or e-mail address', value: typed.who, autocomplete: 'username', isRequired: true, ...wrongIn(refused, ['who']) })}
    <button>Send a link</button>
  </form>`;
}

function byFile({ base, typed, refused, sendsMail }: ForgotView): Markup {
  return html`<form class="card narrow" method="post" action="${base}/forgot/file" novalidate>
    <h2>By a file on your site</h2>
    <p>
      You get another password, and a small file that has to be in every directory that you have registered.
      The password is in use, and the old one void, when the file was found there.
    </p>
    ${fieldOf({ name: 'number', label: 'Provider number', hint: 'It is in your crontab line, after --pid', value: typed.number, autocomplete: 'username', inputmode: 'numeric', isRequired: true, ...wrongIn(refused, ['number']) })}
    ${fieldOf({ name: 'url', label: 'Address of one of your directories', hint: 'As you registered it: http://www.example.org/', value: typed.url, type: 'url', autocomplete: 'url', isRequired: true, ...wrongIn(refused, ['address']) })}
    <button${sendsMail ? html` class="plain"` : ''}>Get a secret and a password</button>
  </form>`;
}
