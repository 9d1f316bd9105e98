/**
 * Proof for another password of a provider: the file must be in every root of it. One that has lost a host
 * can give the roots up that lack the file, and then has them no more: otherwise a host that its owner has
 * lost would give access to the others. What is held of them stays for a while, for who proves them again.
 */
import type { ShownProvider } from '../../db/providers/registered.js';
import type { RegistrationReason } from '../../db/rs/registrations.js';
import type { Proof } from './prove.js';
import type { ProofCode } from './reasons.js';

export interface ResetProof {
  /** Proof whose prefixes are the roots that stay. */
  proof: Proof;
  /** Generation of the password that is replaced. */
  generation?: number;
}

/**
 * @param first that of the directory that was asked for: it has succeeded
 * @param provider as the Queue Manager says; null: there is none; undefined: it is away
 * @param proveAt proves another directory
 * @param givesUp roots without the file may go
 */
export async function resetProof(
  first: Proof,
  provider: Pick<ShownProvider, 'origin' | 'left' | 'generation' | 'roots'> | null | undefined,
  proveAt: (root: string) => Promise<Proof>,
  givesUp: boolean,
): Promise<ResetProof> {
  const addresses = new Set(first.addresses);
  const dissent = new Set(first.dissent);
  const reached = () => ({
    addresses: [...addresses],
    ...(dissent.size > 0 && { dissent: [...dissent] }),
  });
  const failed = (reason: RegistrationReason): ResetProof => ({
    proof: { failed: reason, prefixes: [], ...reached() },
  });
  if (provider === undefined) return failed(AWAY);
  const all = provider?.roots ?? [];
  const kept = all.filter(root => first.prefixes.includes(root));
  if (provider?.origin !== 'rs' || provider.left === 1 || kept.length === 0) return failed(OTHER);
  for (const root of all) {
    if (kept.includes(root)) continue;
    const proof = await proveAt(root);
    for (const address of proof.addresses) addresses.add(address);
    for (const each of proof.dissent ?? []) dissent.add(each);
    // The root has the file, and the rest of its proof is not known now: nobody loses it for that.
    if (LATER.includes(proof.failed?.code ?? '')) return failed(proof.failed ?? OTHER);
    if (proof.failed === undefined)
      kept.push(...proof.prefixes.filter(each => all.includes(each) && !kept.includes(each)));
  }
  const lacking = all.length - kept.length;
  if (lacking > 0 && !givesUp) return failed(lackingIn(lacking, all.length));
  return { proof: { failed: undefined, prefixes: kept, ...reached() }, generation: provider.generation };
}

const LATER: readonly string[] = ['robots-later', 'vantages-later'] satisfies ProofCode[];

const AWAY: RegistrationReason = {
  code: 'try-later',
  what: 'the provider cannot be looked up now',
  do: 'check again in a minute',
};
const OTHER: RegistrationReason = {
  code: 'not-a-root',
  what: 'the file is there, but no provider of this number has this directory',
  do: 'look up number and directory in your crontab line, and begin again',
};

function lackingIn(lacking: number, all: number): RegistrationReason {
  return {
    code: 'roots',
    what: `${lacking} of the ${all} directories of this provider ${lacking === 1 ? 'has' : 'have'} not the file`,
    do: 'put it into each of them, or give up those without it: what is held of them is removed after a while, unless they are proven again',
  };
}
