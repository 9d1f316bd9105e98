/** The package has no types of its own. */
declare module 'html-encoding-sniffer' {
  /** The name of the encoding, as the Encoding Standard writes it; the default where the beginning says
   * nothing of it. */
  export default function sniff(bytes: Uint8Array, options: { defaultEncoding: string }): string;
}
