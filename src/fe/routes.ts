/** Where the CPs of a provider belong, for a front end. */
import type { Endpoint } from '../lib/endpoint.js';

export interface Routes {
  /**
   * Where the owner of a provider's shard takes CPs from front ends; undefined: nowhere at this moment.
   * @param id as the CP writes it; of one that no shard has, a shard is chosen that refuses it
   */
  find(id: string): Promise<Endpoint | undefined>;
  /** Calls `lost` once nobody listens there any more: the owner is another. @returns ends that */
  watch(endpoint: Endpoint, lost: () => void): () => void;
}
