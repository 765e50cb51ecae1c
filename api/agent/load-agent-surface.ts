import type { AgentSurface } from '../agent-exchange.js';
import type { AgentSurfaceDeps } from './agent-surface.js';

/**
 * The agent surface, loaded with the first message: the protocol's library, the schema language that it brings and the
 * tools are an eighth of what an API process would load at its start, and many a process never hears an agent. The first
 * message takes 0.2 s for it, and requests beside it once up to 0.13 s (measured on Node 20).
 */
export function loadAgentSurface(deps: AgentSurfaceDeps): AgentSurface {
  let loading: Promise<AgentSurface> | undefined;
  return async (request) => {
    loading ??= import('./agent-surface.js').then(({ createAgentSurface }) => createAgentSurface(deps));
    const surface = await loading;
    return surface(request);
  };
}
