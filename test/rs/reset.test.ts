/** Roots that stay where a forgotten password is replaced, by what their proofs say. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Proof } from '../../src/rs/proof/prove.js';
import { proofReason, type ProofCode } from '../../src/rs/proof/reasons.js';
import { resetProof } from '../../src/rs/proof/reset.js';

const [A, B] = ['http://a.example.org/', 'http://b.example.org/'] as const;
const TOLD = { origin: 'rs' as const, left: 0 as const, generation: 1, roots: [A, B] };

function proofOf(root: string, code?: ProofCode, dissent?: string[]): Proof {
  return {
    failed: code && proofReason(code),
    prefixes: code === undefined ? [root] : [],
    addresses: ['192.0.2.7'],
    ...(dissent && { dissent }),
  };
}

test('a root that has the file is not given up because robots.txt or vantages cannot be had', async () => {
  for (const code of ['robots-later', 'vantages-later'] as const) {
    const prove = () => Promise.resolve(proofOf(B, code, ['vantage b: away']));
    const { proof } = await resetProof(proofOf(A, undefined, ['vantage a: away']), TOLD, prove, true);
    assert.deepEqual([proof.failed?.code, proof.prefixes], [code, []]);
    assert.deepEqual(proof.dissent, ['vantage a: away', 'vantage b: away']);
  }
  for (const code of ['missing', 'unreachable', 'vantages', 'robots'] as const) {
    const { proof } = await resetProof(proofOf(A), TOLD, () => Promise.resolve(proofOf(B, code)), true);
    assert.deepEqual([proof.failed, proof.prefixes, proof.dissent], [undefined, [A], undefined], code);
  }
});
