/** Where the bytes of a stream go. */
export interface StreamSink {
  /** A promise where it has to wait: until there is room for more. Text goes out as UTF-8; bytes are the
   * caller's again when it has returned, or its promise is kept. */
  write(chunk: string | Uint8Array): void | Promise<void>;
}

/** A sink that changes what it passes on, and holds some of it back. */
export interface EncodedSink extends StreamSink {
  /** After the last byte of a whole stream. */
  end(): Promise<void>;
  /** Gives the stream up: text that it holds back is lost. */
  destroy(): void;
}
