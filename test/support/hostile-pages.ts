/** Pages that strangers might write to cost time and memory, and a look at what they cost. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { Peak } from './markdown-peak.js';

const MB = 1024 * 1024;
const CPU_MS = 10_000;
/** Beside text and four times the page: blocks and marks, of which there is a bound (page-marks.ts), and what V8 has yet to give back. */
const MARKS_BYTES = 256 * MB;

function peakOf(kind: 'text' | 'markdown', html: string): Peak {
  const program = join(import.meta.dirname, 'markdown-peak.js');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, kind], {
    input: html,
    encoding: 'utf8',
  });
  assert.equal(status, 0, `${kind}: ${stderr}`);
  return JSON.parse(stdout) as Peak;
}

/** @param cpuMost in milliseconds */
export function isBounded(html: string, cpuMost = CPU_MS): void {
  const text = peakOf('text', html);
  const { length, cpuMs, rssBytes } = peakOf('markdown', html);
  assert.ok(cpuMs <= cpuMost, `${cpuMs} ms`);
  const most = text.rssBytes + 4 * html.length + MARKS_BYTES;
  assert.ok(rssBytes <= most, `${rssBytes} bytes of memory, at most ${most}`);
  assert.ok(length <= 4 * html.length + MB, `${length} of ${html.length}`);
}

/** @param k how many thousands there are of what each is made of */
export function hostilePages(k: number): readonly (readonly [what: string, html: () => string])[] {
  const many = (part: string, thousands: number) => part.repeat(thousands * k);
  return [
    ['<div> in each other', () => many('<div>', 20) + 'x'],
    ['lists in each other', () => many('<ul><li>', 20) + 'x'],
    ['quotes in each other', () => many('<blockquote>', 100) + 'x'],
    ['items deep in lists', () => '<ul><li>'.repeat(600) + many('<li>a', 100)],
    ['lines deep in quotes', () => '<blockquote>'.repeat(600) + many('<p>a', 100)],
    ['tables in each other', () => many('<table><tr><td>a<td>', 20)],
    ['rows', () => `<table>${many('<tr><td>a<td>b', 200)}`],
    ['cells of a row', () => `<table><tr>${many('<td>a', 100)}`],
    ['lines of a cell', () => `<table><tr><td>a<td>${many('<p>b', 100)}`],
    ['wide cells', () => `<table>${many('<tr><td colspan=50>a', 20)}`],
    ['crossed marks', () => many('<i>a<b>b</i>c</b>', 20)],
    ['alternating marks', () => many('<b>a</b>c<i>b</i>', 20)],
    ['marks around blanks', () => many('<b> </b> <i> a </i>', 20)],
    [
      'links below a long base',
      () => `<base href="http://h/${'x'.repeat(1900)}/">${many('<a href=y>a</a> ', 100)}`,
    ],
    ['pictures', () => many('<a href=y><img src=z alt=a></a>', 50)],
    ['backticks in <pre>', () => `<pre>${many('`', 1000)}`],
    ['letters of a word', () => many('x', 5000)],
    ['marks as words', () => many('`*_[', 500)],
    ['headings', () => many('<h3>a<p>b', 50)],
    ['sentences', () => `<p>${many('One more. ', 200)}`],
    ['blocks, more than memory is for', () => many('<p>a<td>b', 2000)],
    ['marks, more than memory is for', () => many('<b>a</b>c', 1000)],
  ];
}
