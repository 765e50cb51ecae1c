/** What can fail on an ordinary machine is a value; `problem` is text for a person and says what to do. */
export type Outcome<T> = { readonly ok: true; readonly value: T } | Failed;

export interface Failed {
  readonly ok: false;
  readonly problem: string;
}

export function failed(problem: string): Failed {
  return { ok: false, problem };
}
