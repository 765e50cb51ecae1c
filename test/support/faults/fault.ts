export type Direction = 'toServer' | 'toClient';

/** What can happen to a link; if a direction is left out, both are meant. */
export type Fault =
  /** Every piece comes later, and no more than so many bytes a second. */
  | { kind: 'slow'; delayMs: number; bytesPerSecond?: number; direction?: Direction }
  /**
   * A partition: nothing comes through, not even that the other end is gone. TCP sends again what was not acknowledged,
   * so what was held comes through in its order when the link is healed; a proxy that dropped bytes would tear the
   * stream.
   */
  | { kind: 'hold'; direction?: Direction }
  /**
   * One end has lost its connections, and the other does not hear of it: what it sends goes nowhere, and once the link
   * is healed its next byte is answered by a reset. New connections work.
   */
  | { kind: 'half-open'; gone: 'client' | 'server' }
  /** A RST to both ends of every connection there is. */
  | { kind: 'reset' }
  /** As `reset`, and nobody listens until the link is healed. */
  | { kind: 'refuse' }
  /** A RST to both ends of a connection, once `bytes` more have gone this way; it strikes `times` connections (1). */
  | { kind: 'reset-after'; direction: Direction; bytes: number; times?: number }
  /** Likewise in the middle of the next occurrence of these bytes. */
  | { kind: 'reset-at'; direction: Direction; pattern: Buffer; times?: number };

/** The fault in force on a link, as all of its connections see it. */
export interface FaultState {
  fault: Fault | undefined;
  /** Tells a flow that what it counted was counted for an earlier fault. */
  generation: number;
  struck: number;
  /** Settles when the fault in force is over. */
  healed: Promise<void>;
  endFault: () => void;
}

/** Waits for as long as a partition keeps this direction shut. */
export async function untilPassable(state: FaultState, direction: Direction): Promise<void> {
  while (state.fault?.kind === 'hold' && (state.fault.direction ?? direction) === direction) {
    state.struck += 1;
    await state.healed;
  }
}
