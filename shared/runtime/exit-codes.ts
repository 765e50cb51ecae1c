/** Why a process ended, by sysexits.h: after some a supervisor tries again, after others a person must act. */
export const exitCodes = {
  /** Something was refused, failed, or was found to be wrong. */
  failed: 1,
  /** Its command line is wrong. */
  usage: 64,
  /** EX_DATAERR: what it was given to work on is of another version. */
  data: 65,
  /** A server, or an address to listen on, cannot be had at the moment. */
  unavailable: 69,
  /** EX_SOFTWARE: a fault of ours, after which the state of the process cannot be trusted. */
  fault: 70,
  /** EX_TEMPFAIL: another process is at work on the same data, or holds a row of it. */
  running: 75,
  /** The machine or the environment must be changed first. */
  config: 78,
} as const;
