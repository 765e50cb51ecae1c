import { median } from '../median.js';

/** Traffic on one of a process's sockets. */
export interface SocketEvent {
  ns: bigint;
  peer: string;
  direction: 'in' | 'out';
}

/** What happens between two moments of a request. */
export interface Hop {
  what: string;
  /** Medians over the requests, in microseconds. */
  us: number;
  /** Since the client sent it. */
  atUs: number;
}

export interface Timeline {
  requests: number;
  /** How many of them took the most common way, which is shown; in the others a heartbeat or a sweep came between. */
  matching: number;
  hops: Hop[];
  totalUs: number;
}

interface Moment {
  name: string;
  us: number;
}

/** The last thing that the service does for a request. */
const answered = 'API → client';

/** Puts the moments of each request in order of time, and takes the medians of the requests that went the usual way. */
export function readTimeline(
  windows: readonly [startNs: bigint, endNs: bigint][],
  processes: Readonly<Record<string, readonly SocketEvent[]>>,
): Timeline {
  const all = Object.entries(processes)
    .flatMap(([process, events]) => events.map((event) => ({ ...event, process })))
    .toSorted((one, other) => (one.ns < other.ns ? -1 : 1));
  const ways = new Map<string, Moment[][]>();
  let at = 0;
  for (const [startNs, endNs] of windows) {
    while (at < all.length && (all[at]?.ns ?? 0n) < startNs) at += 1;
    const moments: Moment[] = [];
    for (; at < all.length && (all[at]?.ns ?? endNs) < endNs; at += 1) {
      const event = all[at];
      // What the worker does once the answer has gone out is not on the request's way.
      if (event !== undefined && moments.at(-1)?.name !== answered)
        add(moments, nameOf(event), Number(event.ns - startNs) / 1_000, event.direction);
    }
    moments.push({ name: 'client has the answer', us: Number(endNs - startNs) / 1_000 });
    const way = moments.map(({ name }) => name).join('; ');
    ways.set(way, [...(ways.get(way) ?? []), moments]);
  }
  const [usual = []] = [...ways.values()].toSorted((one, other) => other.length - one.length);
  return {
    requests: windows.length,
    matching: usual.length,
    hops: hopsOf(usual),
    totalUs: median(usual.map((moments) => moments.at(-1)?.us ?? 0)),
  };
}

/** A reply that comes in pieces has come with its last; what is written in pieces has gone out with its first. */
function add(moments: Moment[], name: string, us: number, direction: SocketEvent['direction']): void {
  const last = moments.at(-1);
  if (last?.name !== name) moments.push({ name, us });
  else if (direction === 'in') last.us = us;
}

function nameOf({ process, peer, direction }: SocketEvent & { process: string }): string {
  return direction === 'in' ? `${process} ← ${peer}` : `${process} → ${peer}`;
}

function hopsOf(requests: readonly Moment[][]): Hop[] {
  const [first = []] = requests;
  return first.map(({ name }, index) => {
    const since = (moments: readonly Moment[]) => (moments[index]?.us ?? 0) - (moments[index - 1]?.us ?? 0);
    return {
      what: name,
      us: median(requests.map(since)),
      atUs: median(requests.map((moments) => moments[index]?.us ?? 0)),
    };
  });
}
