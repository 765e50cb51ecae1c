/** What was found of one thing: good, good with something to know, or to be mended first. */
export interface Finding {
  verdict: 'good' | 'note' | 'bad';
  text: string;
}

export const good = (text: string): Finding => ({ verdict: 'good', text });
export const note = (text: string): Finding => ({ verdict: 'note', text });
export const bad = (text: string): Finding => ({ verdict: 'bad', text });
