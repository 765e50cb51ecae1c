interface Open {
  name: string;
  /** If so, it is closed at the run's end. If not, its suite closes it; one still open after that is a leak. */
  forWholeRun: boolean;
  close: () => Promise<void>;
  /** Works within an exit handler: nothing in it is awaited. */
  closeNow: () => void;
}

const opened = new Set<Open>();
const parentPollMs = 500;
let isListening = false;

/** Remembers what must not outlive this process. Returns what forgets it, to be called once it is closed. */
export function rememberOpen(open: Open): () => void {
  opened.add(open);
  endWithParent();
  return () => opened.delete(open);
}

/** Closes everything, and fails naming what its suite should have closed. */
export async function closeAll(): Promise<void> {
  try {
    await closeLeaks();
  } finally {
    await closeEach(() => true);
  }
}

/** Closes what a suite should have closed, and fails naming it. */
export async function closeLeaks(): Promise<void> {
  const leaks = await closeEach(({ forWholeRun }) => !forWholeRun);
  if (leaks.length > 0) throw new Error(`Left open by the suites that started them: ${leaks.join(', ')}`);
}

/** Last opened first. Returns their names. */
async function closeEach(isMeant: (open: Open) => boolean): Promise<string[]> {
  const names: string[] = [];
  // One at a time from what is still open: closing an owner closes what it owns, which is no leak.
  const last = () => [...opened].filter(isMeant).at(-1);
  for (let open = last(); open !== undefined; open = last()) {
    names.push(open.name);
    await open.close();
    opened.delete(open);
  }
  return names;
}

/** From now on a signal and the end of the parent end this process, and what it has open. */
export function endWithParent(): void {
  if (isListening) return;
  isListening = true;
  process.once('exit', closeAllNow);
  for (const [name, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ] as const) {
    // Not once: a second Ctrl-C would then end this process in the middle of closing.
    process.on(name, () => process.exit(128 + number));
  }
  // Mocha runs the tests in a child of the process that was started, and does not pass on SIGTERM or a kill −9.
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid !== parent) process.exit(1);
  }, parentPollMs);
  timer.unref();
}

/** Mocha listens for uncaught exceptions: one thrown here would become a failed test, and the process would go on. */
function closeAllNow(): void {
  for (const { name, closeNow } of [...opened].reverse()) {
    try {
      closeNow();
    } catch (error) {
      process.stderr.write(`${name} could not be closed: ${(error as Error).message}\n`);
    }
  }
  opened.clear();
}
