/** Safeguards of when urls are sent, and to whom, taken out, to be noticed by the model or the tests named. */
import { edit, type Mutant } from './mutants.js';

const AWAY =
  'a page that nobody announced does not answer for days: what its owner announces goes at once, also after a crash';

export const SCHEDULE_MUTANTS: readonly Mutant[] = [
  {
    without: 'one fetch of a provider at a time',
    edits: [edit('mayFetch(provider) && provider.lanes.size < most', 'mayFetch(provider)')],
  },
  {
    without: 'giving back what a lost Bot Manager was doing',
    edits: [
      edit(
        'for (const request of this.#workers.remove(id))',
        'for (const request of (this.#workers.remove(id), []))',
      ),
    ],
  },
  {
    without: 'leaving alone a site that does not answer',
    edits: [
      edit(
        'this.#table.delay(provider.pid, Math.max(backoffUntilMs,',
        'this.#table.delay(provider.pid, Math.max(0,',
      ),
    ],
  },
  {
    without: 'writing down that a site does not answer',
    edits: [edit('providers.setBackoff(provider, isOver ? 0 : provider.backoffs, untilS);', '')],
  },
  {
    without: 'trying such a site with one url',
    edits: [edit('this.#table.setProbing(provider.pid, provider.backoffs > 0);', '')],
  },
  {
    without: 'the limit of retries',
    edits: [edit('!isLast(tries)', 'tries <= retries')],
    by: { file: 'qm/model', test: 'a url is tried as often as it may, and then reported' },
  },
  {
    without: 'the wait before a retry',
    edits: [edit('nowMs + this.#retries.waitMs(failed, arrival.result)', 'nowMs')],
  },
  {
    without: 'the pause of a provider',
    edits: [
      edit("'stopped', provider.paused !== 0 || provider.enabled === 0", "'stopped', provider.enabled === 0"),
    ],
  },
  {
    without: 'the hours of providers',
    edits: [edit("'closed', !this.#slots.permits(hours)", "'closed', false")],
    by: {
      file: 'qm/time-slots',
      test: 'outside its hours a provider is closed: its sets keep their place, and that is not being busy',
    },
  },
  {
    without: 'what began while nobody looked',
    edits: [edit('slotsBegun(last.atMs, nowMs, slots)', '[]')],
    by: {
      file: 'qm/time-slots',
      test: 'what begins while no Queue Manager runs is made up for by the next',
    },
  },
  {
    without: 'looking at hours again that were submitted again',
    edits: [edit('const parts = next(0, RESUBMITTED_SETS);', 'const parts = [];')],
    by: {
      file: 'qm/time-slots',
      test: 'a url submitted again has its new hours at once, and its first place',
    },
  },
  {
    without: 'knowing the masks by which rows wait, after a restart',
    edits: [edit('if (!this.#masks.has(pid))', 'if (false)')],
    by: {
      file: 'qm/time-slots',
      test: 'a change of the hours is seen also by a Queue Manager that was started since the urls wait',
    },
  },
  {
    without: 'going back to sets that urls come back into',
    edits: [edit('this.#goBackTo(rankOf(set) - 1);', '')],
    by: {
      file: 'qm/time-slots',
      test: 'urls wait for their own hours in parts of their set, and come back to their places',
    },
  },
  {
    without: 'passing over what is begun when sets are met again',
    edits: [edit('if (!this.#isBegun(set))', '')],
    by: {
      file: 'qm/schedule/url-order',
      test: 'urls that come back into a set before those that are begun are taken first, and nothing twice',
    },
  },
  {
    without: 'due times being written',
    edits: [edit('providers.setDue(provider.pid, this.times.write(meter.settledMs(nowMs)));', '{}')],
    by: {
      file: 'qm/bandwidth',
      test: 'a crash neither forgets what was fetched nor charges it twice',
    },
  },
  {
    without: 'charging what is expected of a url',
    edits: [edit('meter.charge(own, nowMs);', '{}')],
    by: {
      file: 'qm/bandwidth',
      test: 'a limited provider is fetched from at its limit, however many others are',
    },
  },
  {
    without: 'the longest content in what is charged',
    edits: [edit('this.#options.maxContentBytes)', 'Infinity)')],
    by: {
      file: 'qm/bandwidth',
      test: 'a length that is announced is charged up to the longest content that a robot takes',
    },
  },
  {
    without: 'others waiting for no more of a provider than has come of it lately',
    edits: [edit('Math.min(this.#whole.expected(believed), most)', 'this.#whole.expected(believed)')],
    by: {
      file: 'qm/bandwidth',
      test: 'a length that is announced is charged up to the longest content that a robot takes',
    },
  },
  {
    without: 'giving back what a lost Bot Manager was expected to receive',
    edits: [edit('this.#waits.lost(', 'void (')],
    by: {
      file: 'qm/bandwidth',
      test: 'what a lost Bot Manager had costs the provider the time for which it had it',
    },
  },
  {
    without: 'leaving what is expected out of what is written',
    edits: [edit('Math.min(this.dueMs, nowMs)', 'this.dueMs')],
    by: {
      file: 'qm/bandwidth',
      test: 'what was expected of a url when the result of another was written keeps the whole waiting no longer',
    },
  },
  {
    without: 'the limit of fetches from one host',
    edits: [edit('lanes.length + inLine.length < this.#mostAt(name)', 'lanes.length + inLine.length >= 0')],
    by: {
      file: 'qm/hosts',
      test: 'of 23 providers that share a host as many are fetched from as may be, each in its turn, and others are not held up',
    },
  },
  {
    without: 'the limit of fetches from one group',
    edits: [edit('isGroup(name) ? perGroup : perHost', 'perHost')],
    by: { file: 'qm/hosts', test: 'the providers of a group share its lanes, whatever their hosts' },
  },
  {
    without: 'the pause between fetches of what nobody announced',
    edits: [edit('!isUnasked', 'true')],
    by: {
      file: 'qm/pace',
      test: 'a provider whose links are followed is left alone for a second, or for twice the time that its last answer took',
    },
  },
  {
    without: 'urls of owners not waiting for a robots.txt',
    edits: [edit('(row.flags & UNASKED) === 0', 'false'), edit('!isGated(row)', 'false')],
    by: { file: 'qm/robots-gate', test: 'what an owner announced waits for no robots.txt and obeys none' },
  },
  {
    without: 'leaving alone an origin that does not answer what nobody announced',
    edits: [edit('this.#waitS(this.#rules.row(origin)) > 0', 'false')],
    by: { file: 'qm/unasked-away', test: AWAY },
  },
  {
    without: 'writing down that an origin does not answer what nobody announced',
    edits: [edit('robots !== undefined', 'false'), edit('pause !== undefined', 'false')],
    by: { file: 'qm/unasked-away', test: AWAY },
  },
  {
    without: 'what nobody announced delaying nothing that an owner did',
    edits: [edit("result.reach === 'provider'", 'false'), edit('arrival.set.class === 0', 'true')],
    by: { file: 'qm/unasked-away', test: AWAY },
  },
  {
    without: 'one origin that is left alone not holding up another',
    edits: [edit('known.silent.isSpread && ', 'false && ')],
    by: {
      file: 'qm/unasked-away',
      test: 'one origin of a provider that is left alone does not hold up the links of another',
    },
  },
  {
    without: 'calling back what has not begun where an origin does not answer',
    edits: [edit('this.#table.recallAll(lane.pid)', '{}')],
    by: {
      file: 'qm/unasked-away',
      test: 'what was sent ahead of what nobody announced is called back where its origin does not answer',
    },
  },
  {
    without: 'what robots.txt forbids',
    edits: [edit("rules.permits(url) ? 'go' : 'forbidden'", "'go'")],
    by: {
      file: 'qm/robots-gate',
      test: 'the first url of an origin asks for its robots.txt, once, and what that forbids is not asked for',
    },
  },
  {
    without: 'content going that has been forbidden for long',
    edits: [edit('this.stores.content.remove(pid, held, nowS)', '{}')],
    by: {
      file: 'qm/robots-gate',
      test: 'content that nobody announced goes when robots.txt has forbidden it for 30 days',
    },
  },
  {
    without: 'the limit of what is known not to be had',
    edits: [edit('- this.#most', '- Infinity')],
    by: { file: 'qm/known', test: 'of what is known not to be had the oldest goes when there is too much' },
  },
  {
    without: 'what an owner announces not waiting for the pause of what nobody did',
    edits: [edit('this.#waits.nextMayDiffer(known)', 'void known')],
    by: {
      file: 'qm/robots-gate',
      test: 'what an owner announces waits for no pause of what nobody did, and goes before all of it',
    },
  },
  {
    without: 'giving places at a host that fall free to those that are parked',
    edits: [edit('this.#balance(lane.host, host);', '')],
    by: {
      file: 'qm/schedule/hosts',
      test: 'over any history no host has more lanes than it may, no slot is free while somebody could have it, and nobody starves',
    },
  },
  {
    without: 'ending a lane whose turn is over while another provider waits for its host',
    edits: [edit('isDueTo(parked, lane, isTurnOver)', 'false')],
    by: {
      file: 'qm/schedule/hosts',
      test: 'who waits for a full host has its turn there, longest waiting first',
    },
  },
  {
    without: 'a lane being at one host at a time',
    edits: [edit('known.isSpread && !table.mayCarry(', 'false && !table.mayCarry(')],
    by: {
      file: 'qm/hosts',
      test: 'urls of a provider with several hosts keep their order, and no host has more than it may',
    },
  },
  {
    without: 'the pace of a provider',
    edits: [edit('meter.dueMs, pacedUntilMs)', 'meter.dueMs)')],
    by: {
      file: 'qm/pace',
      test: 'a provider with a pace is left alone for as long between two fetches, whatever else it may have; others are not',
    },
  },
  {
    without: 'making room for a higher priority',
    edits: [edit('this.#makeRoom();', '')],
    by: {
      file: 'qm/priorities',
      test: 'between two urls a provider yields to a higher priority, also of what was sent ahead',
    },
  },
  {
    without: 'what an owner announces going before what nobody did',
    edits: [edit('if (isUrgent)\n            this.#table.recallAll(known.provider.pid);', '')],
    by: {
      file: 'qm/classes',
      test: 'a url that is announced goes before 10 000 links that wait, and between two urls',
    },
  },
  {
    without: 'what is there by its turn not being fetched as a link',
    edits: [edit('return isNeedless(row, held, isKnown);', 'return false;')],
    by: {
      file: 'qm/classes',
      test: 'a link is looked at again when its turn comes: what is held in any type by then, or known not to be had, is not fetched',
    },
  },
  {
    without: 'the priority of providers',
    edits: [edit('priority: priorityOf(provider.priority, next),', 'priority: 1,')],
  },
  {
    without: 'ageing',
    edits: [edit('Math.floor((nowMs - sinceMs) / ageingMs)', '0')],
    by: {
      file: 'qm/priorities',
      test: 'beside endless work of the highest priority the turn of the lowest comes by its age',
    },
  },
  {
    without: 'a Retry-After that ends an outage',
    edits: [edit('if (!this.#isPatient(paced))', 'if (true)')],
    by: {
      file: 'qm/model',
      test: 'a site that answers after an outage that it is busy is left alone as it asks',
    },
  },
  {
    without: 'recalling lanes',
    edits: [edit('this.#workers.get(lane.worker)?.recall(lane.name);', '{}')],
    by: {
      file: 'qm/time-slots',
      test: 'when the hours end in the middle of a set what was sent ahead comes back, and the rest goes on in order',
    },
  },
  {
    without: 'calling back what has changed on its way',
    edits: [edit('this.#table.recall(outdated);', '{}')],
    by: {
      file: 'qm/outdated',
      test: 'what is announced again after it was sent ahead, and before it was begun, is fetched once',
    },
  },
  {
    without: 'the roots a provider has when the turn of a url comes',
    edits: [edit('!known.isInside(row.furl ?? row.curl)', 'false')],
    by: {
      file: 'qm/providers',
      test: 'what waits below a root that was removed is not fetched: its provider is told, what is held stays',
    },
  },
  {
    without: 'giving slots of lower priorities to lanes beyond the slots',
    edits: [edit('this.recall(displaced);', '{}')],
    by: {
      file: 'qm/priorities',
      test: 'a higher priority has a slot at once beside 4 of a lower one, though lanes are overbooked',
    },
  },
  {
    without: 'the hours of a url',
    edits: [edit('slots.permits(hours) ?', 'true ?')],
  },
  {
    without: 'the hours of a provider',
    edits: [edit("this.#table.setHindered(provider.pid, 'closed', !this.#slots.permits(hours));", 'hours;')],
  },
  {
    without: 'putting urls back when their hour comes',
    edits: [
      edit('begun.length === slots ? store.slots.slots() : begun', '[]'),
      edit('isOther || begun.has(slot)', 'isOther'),
    ],
  },
  {
    without: 'taking back urls whose own hours end',
    edits: [edit('this.#table.recall(lane);', '{}')],
    by: { file: 'qm/model', test: 'a url sent ahead is taken back when its own hours end' },
  },
];
