/** Documents that real programs make text of. */
import { existsSync } from 'node:fs';

const needed = ['/usr/bin/bwrap', '/usr/bin/pdftotext', '/usr/bin/pandoc'].filter(file => !existsSync(file));
/** Why their tests are left out; CI has them. */
export const skip = needed.length > 0 && process.env['CI'] !== 'true' && `no ${needed.join(', ')}`;

/** A PDF with these words on a page each, as a program of other hands would write it. */
export function pdfOf(...pages: string[]): Buffer {
  const contents = pages.map(words => `BT /F1 24 Tf 72 700 Td (${words}) Tj ET`);
  const numberOf = (i: number) => 4 + 2 * i;
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${pages.map((_, i) => `${numberOf(i)} 0 R`).join(' ')}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...contents.flatMap((content, i) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${numberOf(i) + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
      `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
    ]),
  ];
  let pdf = '%PDF-1.4\n';
  const at = objects.map((object, i) => {
    const offset = pdf.length;
    pdf += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = at.map(offset => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  return Buffer.from(
    `${pdf}xref\n0 ${at.length + 1}\n0000000000 65535 f \n${table}trailer\n<< /Size ${at.length + 1} /Root 1 0 R >>\nstartxref\n${pdf.length}\n%%EOF\n`,
  );
}
