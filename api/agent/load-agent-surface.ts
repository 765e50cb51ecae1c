import type { AgentSurface } from '../agent-exchange.js';
import type { AgentSurfaceDeps } from './agent-surface.js';

/**
 * The agent surface, loaded with the first message. The protocol's library, the schema language that it brings and the
 * tools would be an eighth of what an API process loads at its start, and many processes never hear from an agent. The
 * first message takes 0.2 s longer, and requests at that moment up to 0.13 s (measured on Node 20).
 */
export function loadAgentSurface(deps: AgentSurfaceDeps, load = loadModule): AgentSurface {
  let loading: Promise<AgentSurface> | undefined;
  return async (request) => {
    loading ??= load()
      .then(({ createAgentSurface }) => createAgentSurface(deps))
      .catch((error: unknown) => {
        // So that the next message tries again. Node 24 reads the files again, Node 20 remembers those it could not read.
        loading = undefined;
        // Ours has no code, by which a lack of files (EMFILE) would be taken for a Postgres that is away.
        throw new Error('the agent surface cannot be loaded', { cause: error });
      });
    const surface = await loading;
    return surface(request);
  };
}

const loadModule = () => import('./agent-surface.js');
