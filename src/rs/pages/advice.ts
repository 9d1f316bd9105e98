/** Meaning of an error code for somebody who looks after a site, and the advice; lcc-codes(7) has the same
 * for programs. */
import { codeText } from '../../wire/codes.js';

export interface Advice {
  means: string;
  todo: string;
}

const ANNOUNCE = 'announce it again: touch the file, or run your line once with lcccpstate --full';

const ADVICE: Readonly<Record<number, Advice>> = {
  202: {
    means: 'There was no room for one more page or file.',
    todo: `Delete some, or ask the operator for more; then ${ANNOUNCE}.`,
  },
  203: {
    means: 'There was no space for it.',
    todo: `Delete something, or ask the operator for more; then ${ANNOUNCE}.`,
  },
  205: {
    means: 'A list of yours would have removed a large part of what is kept. Nothing was removed.',
    todo: 'If it is right, send it once more; if not, send all of your site with lcccpstate --full.',
  },
  301: { means: 'A line of your list has no address.', todo: 'Mend the program that writes the list.' },
  302: {
    means: 'A line of your list has no media type, or none that can be.',
    todo: 'Say it with file2url --type EXT=TYPE, or --default-type.',
  },
  303: {
    means: 'This cache takes no files of this type.',
    todo: 'Leave them out; lcccp --status shows the types that are taken.',
  },
  304: {
    means: 'The address is outside of the directories that you have registered.',
    todo: 'Compare --urlprefix with your roots, or add a root.',
  },
  305: { means: 'The address is neither http nor https.', todo: 'Give lcccp an --urlprefix.' },
  306: {
    means: 'A line of your list is malformed; the text says where.',
    todo: 'Mend the program that writes it.',
  },
  307: { means: 'The address is too long.', todo: 'Leave it out, or give the page a shorter one.' },
  401: {
    means: 'Your server asked for a login.',
    todo: 'Leave such pages out, or ask the operator to store a login for your site.',
  },
  403: {
    means: 'Your server refused to send it.',
    todo: `Permit it for this cache, mind rules against robots; then ${ANNOUNCE}.`,
  },
  404: {
    means: 'Your server says that there is no such page.',
    todo: `If it should be there, mend the address, then ${ANNOUNCE}. If it is gone, you need not do anything.`,
  },
  410: { means: 'Your server says that the page is gone for good.', todo: 'You need not do anything.' },
  429: {
    means: 'Your server says that it is asked too often.',
    todo: 'Lower the rate, or change the hours, under Terms.',
  },
  500: {
    means: 'The program of the page failed.',
    todo: `Look into the log of your server; then ${ANNOUNCE}.`,
  },
  503: {
    means: 'Your server was too busy, again and again.',
    todo: `Lower the rate, or change the hours, under Terms; then ${ANNOUNCE}.`,
  },
  601: {
    means: 'The name of the host leads to no address.',
    todo: 'Check its entry in the DNS. What waits is tried again by itself.',
  },
  602: {
    means: 'Nothing answers at this host and port.',
    todo: 'Start your server, or open its port. What waits is tried again by itself.',
  },
  603: {
    means: 'Your server did not answer in time.',
    todo: `Look why the page is slow; then ${ANNOUNCE}.`,
  },
  604: {
    means: 'The certificate of your server is not valid for this name, or has expired.',
    todo: 'Renew it, with the whole chain. What waits is tried again by itself.',
  },
  605: {
    means: 'The connection broke in the middle of the answer.',
    todo: `Look into the log of your server; then ${ANNOUNCE}.`,
  },
  606: { means: 'The file is larger than this cache takes.', todo: 'Leave it out, or ask the operator.' },
  607: {
    means: 'Your server sends another media type than was announced.',
    todo: 'Mend the types of your server, or say the right one with file2url --type EXT=TYPE.',
  },
  608: {
    means: 'The address leads on too often, or in a circle.',
    todo: 'Announce the address that the page really has.',
  },
  609: {
    means: 'The address leads to one outside of your directories.',
    todo: 'Announce the address that the page really has, or add its directory as a root.',
  },
  610: {
    means: 'The name of the host leads to an address that is not public.',
    todo: 'Correct its entry in the DNS, or ask the operator.',
  },
  611: {
    means: 'What your server answered is not HTTP, or not in the coding that it names.',
    todo: 'Check that the port is that of a web server, and how it compresses what it sends.',
  },
  612: {
    means: 'The page has changed since it was announced.',
    todo: 'You need not do anything: the next run of your line announces it.',
  },
  613: { means: 'The disk of this cache is full.', todo: `Tell the operator; later ${ANNOUNCE}.` },
  614: {
    means: 'The hours that were announced for it never come.',
    todo: 'Announce other hours, or permit more under Terms.',
  },
  615: {
    means: 'The robots.txt of your site forbids it. It was not announced, but found as a link.',
    todo: 'If it may be fetched, permit it there, or announce it yourself.',
  },
  616: {
    means: 'The page has changed, and your site did not announce it.',
    todo: 'The new page is kept. See to it that each change is announced, or send a full set.',
  },
  617: {
    means: 'The page is gone, and your site did not announce it.',
    todo: 'See to it that each removal is announced, or send a full set.',
  },
  618: {
    means: 'The page asks not to be kept (noindex). It was not announced, but found as a link.',
    todo: 'If it may be kept, take noindex off, or announce it yourself.',
  },
};

export function adviceOf(code: number): Advice {
  const known = ADVICE[code];
  if (known !== undefined) return known;
  if (code >= 500 && code < 600)
    return {
      means: `Your server failed (status ${code}), again and again.`,
      todo: `Look into its log; then ${ANNOUNCE}.`,
    };
  if (code >= 400 && code < 500)
    return {
      means: `Your server refused it (status ${code}).`,
      todo: `Look into its log; if the page should be there, ${ANNOUNCE}.`,
    };
  return { means: `${codeText(code)}.`, todo: 'The page lcc-codes(7) of the manual says what it is.' };
}
