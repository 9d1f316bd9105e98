/** What reading lists is bounded by: plain values, taken from the settings in one place. */
import type { Config } from '../config/load.js';
import { limitText } from '../config/settings/index.js';

/** A bound, and how the message that refuses names it. */
export interface SourceLimit {
  most: number;
  text: string;
}

export interface SourceLimits {
  documents: SourceLimit;
  depth: SourceLimit;
  entries: SourceLimit;
  documentBytes: SourceLimit;
  feedBytes: SourceLimit;
  tokenBytes: SourceLimit;
  urlBytes: SourceLimit;
}

export function sourceLimitsOf(config: Config): SourceLimits {
  const bound = (key: Parameters<typeof limitText>[0]): SourceLimit => {
    const most = Number(config.get(key));
    return { most, text: limitText(key, most) };
  };
  return {
    documents: bound('spider.list_max_documents'),
    depth: bound('spider.list_max_depth'),
    entries: bound('spider.list_max_entries'),
    documentBytes: bound('spider.list_max_document_bytes'),
    feedBytes: bound('spider.list_max_feed_bytes'),
    tokenBytes: bound('spider.list_max_token_bytes'),
    urlBytes: bound('spider.list_max_url_bytes'),
  };
}
