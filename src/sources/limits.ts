/** Bounds of reading lists. */
import { limitIn, valueOf, type NumberKey, type Settings } from '../config/settings/index.js';

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

export function sourceLimitsOf(settings: Settings): SourceLimits {
  const bound = (key: NumberKey) => ({ most: valueOf(settings, key), text: limitIn(settings, key) });
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
