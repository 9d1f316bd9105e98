declare module 'turndown' {
  export default class TurndownService {
    constructor(options: { headingStyle: 'atx'; codeBlockStyle: 'fenced' });
    use(plugin: unknown): void;
    turndown(html: string): string;
  }
}

declare module 'turndown-plugin-gfm' {
  export const gfm: unknown;
}
