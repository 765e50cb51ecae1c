/**
 * Both ends of the channel between a benchmark or a load run and its processes: a call has one answer, and events on
 * the way.
 */

export interface CallMessage {
  call: number;
  name: string;
  argument: unknown;
}

export type ChildMessage =
  | { type: 'ready'; port?: number }
  | { type: 'event'; call: number; event: unknown }
  | { type: 'answer'; call: number; value: unknown }
  | { type: 'fault'; call: number; message: string };

type Handler = (argument: never, emit: (event: unknown) => void) => Promise<unknown>;

/**
 * The child's end: answers calls with handlers, and ends the process with its parent, however that ended.
 *
 * @throws where the process was not started with a channel
 */
export function serveParent(handlers: Readonly<Record<string, Handler>>): (message: ChildMessage) => void {
  if (process.send === undefined) throw new Error('This is a process of npm run bench or npm run load.');
  const send = (message: ChildMessage) => process.send?.(message);
  process.once('disconnect', () => process.exit(0));
  process.on('message', ({ call, name, argument }: CallMessage) => {
    const handler = handlers[name];
    const answer =
      handler === undefined
        ? Promise.reject(new Error(`no such call: ${name}`))
        : handler(argument as never, (event) => send({ type: 'event', call, event }));
    answer.then(
      (value) => send({ type: 'answer', call, value }),
      (error: unknown) =>
        send({ type: 'fault', call, message: error instanceof Error ? error.message : String(error) }),
    );
  });
  return send;
}
