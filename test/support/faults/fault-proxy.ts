import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import { freePort } from '../../../shared/standalone/ports.js';
import { resetSocket } from '../http/reset-socket.js';
import { untilPassable } from './fault.js';
import type { Fault, FaultState } from './fault.js';
import { createFlow } from './fault-flow.js';
import type { Flow } from './fault-flow.js';

/** A TCP proxy in front of one server, whose link can be made to fail while connections live. */
export interface FaultProxy {
  readonly port: number;
  /** The same address, but through the proxy. */
  through(url: string): string;
  /** From now on, until it is healed or another is injected. */
  inject(fault: Fault): Promise<void>;
  heal(): Promise<void>;
  /** How often the last fault has struck: connections it broke, or pieces that it held up. */
  struck(): number;
  /** Connections that clients have open. */
  open(): number;
  close(): Promise<void>;
}

interface Link {
  client: Socket;
  server: Socket;
  flows: Flow[];
  /** Which end is gone without the other's knowledge. */
  gone: 'client' | 'server' | undefined;
}

export async function startFaultProxy(target: { host?: string; port: number }): Promise<FaultProxy> {
  const state: FaultState = {
    fault: undefined,
    generation: 0,
    struck: 0,
    healed: Promise.resolve(),
    endFault: () => undefined,
  };
  const links = new Set<Link>();
  const clients = new Set<Socket>();
  const port = await freePort();
  let listener: Server | undefined = await listen(port, onClient);

  function onClient(client: Socket): void {
    clients.add(client);
    client.on('error', () => undefined).once('close', () => clients.delete(client));
    void untilPassable(state, 'toServer').then(() => {
      if (client.destroyed) return;
      const server = connect({ host: '127.0.0.1', ...target, allowHalfOpen: true, noDelay: true });
      server.on('error', () => undefined);
      links.add(createLink(state, client, server, (link) => links.delete(link)));
    });
  }

  const end = () => {
    state.fault = undefined;
    state.endFault();
    // A server learns by its keep-alive probes that its client is gone; a client that has closed needs no telling.
    for (const link of links) {
      if (link.gone === 'client' || (link.gone === 'server' && link.client.readableEnded)) reset(link);
    }
  };

  async function inject(fault: Fault): Promise<void> {
    await heal();
    state.fault = fault;
    state.generation += 1;
    state.struck = 0;
    state.healed = new Promise((resolve) => (state.endFault = resolve));
    if (fault.kind === 'refuse') {
      listener?.close();
      listener = undefined;
    }
    if (fault.kind === 'refuse' || fault.kind === 'reset') for (const link of links) strike(link, reset);
    if (fault.kind === 'half-open') for (const link of links) strike(link, () => loseEnd(link, fault.gone));
  }

  function strike(link: Link, by: (link: Link) => void): void {
    state.struck += 1;
    by(link);
  }

  async function heal(): Promise<void> {
    end();
    listener ??= await listen(port, onClient);
  }

  return {
    port,
    through: (url) => Object.assign(new URL(url), { hostname: '127.0.0.1', port: String(port) }).href,
    inject,
    heal,
    struck: () => state.struck,
    open: () => clients.size,
    close: async () => {
      end();
      for (const link of links) reset(link);
      for (const client of clients) resetSocket(client);
      const closing = listener;
      if (closing !== undefined) await new Promise((resolve) => closing.close(resolve));
    },
  };
}

function createLink(state: FaultState, client: Socket, server: Socket, onClosed: (link: Link) => void): Link {
  const link: Link = { client, server, flows: [], gone: undefined };
  const cut = () => reset(link);
  // After the healing, a reset answers the first byte of the end that is left, as from a host without its state.
  const swallows = () => {
    if (link.gone !== undefined && state.fault === undefined) cut();
    return link.gone !== undefined;
  };
  link.flows = [
    createFlow({ state, direction: 'toServer', source: client, sink: server, swallows, cut }),
    createFlow({ state, direction: 'toClient', source: server, sink: client, swallows, cut }),
  ];
  for (const socket of [client, server]) {
    socket.once('close', () => {
      if (client.destroyed && server.destroyed) onClosed(link);
    });
  }
  return link;
}

function loseEnd(link: Link, gone: 'client' | 'server'): void {
  link.gone = gone;
  for (const flow of link.flows) flow.discard();
  resetSocket(link[gone]);
}

function reset({ client, server, flows }: Link): void {
  for (const flow of flows) flow.discard();
  resetSocket(client);
  resetSocket(server);
}

function listen(port: number, onClient: (client: Socket) => void): Promise<Server> {
  const server = createServer({ allowHalfOpen: true, noDelay: true }, onClient);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, () => resolve(server));
  });
}
