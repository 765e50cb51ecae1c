import type { Catalogue } from '../catalogue.js';
import { createRandom } from '../random.js';
import { scenarios } from '../scenarios.js';
import type { ScenarioName } from '../scenarios.js';

export interface PlannedRequest {
  /** The whole request as it goes over the wire. */
  message: string;
  /** Index of the material it changes; undefined for one that only reads. */
  material: number | undefined;
  /** Units that it adds at each of its rows. */
  delta: number;
}

/** Deltas are 1 to this, so that a change that was counted twice or lost shows in the sum. All are above zero: the clamp never hides one. */
const deltaMax = 3;

/** The requests of a scenario, one a call, in the same order for the same seed. */
export function planRequests(name: ScenarioName, catalogue: Catalogue, seed: number): () => PlannedRequest {
  const { rows, pick } = scenarios[name];
  const random = createRandom(seed);
  const nextMaterial = pick(random);
  const bodies = Array.from({ length: deltaMax }, (_, index) => bodyOf(catalogue, rows, index + 1));
  return () => {
    const material = nextMaterial();
    const delta = 1 + Math.floor(random() * deltaMax);
    const body = bodies[delta - 1] ?? '';
    const path = `/v1/raw-materials/${catalogue.materialIds[material] ?? ''}/inventory`;
    return { message: `PATCH ${path} ${restOfHead(catalogue, body.length)}${body}`, material, delta };
  };
}

/** A request that touches neither limiter nor database: what generator and HTTP stack can do at most. */
export function planHealth(): () => PlannedRequest {
  const request = { message: `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`, material: undefined, delta: 0 };
  return () => request;
}

function restOfHead({ writeKey }: Catalogue, length: number): string {
  return (
    `HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${writeKey}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`
  );
}

/** ASCII only, so that its length in characters is its length in bytes. */
function bodyOf({ locationIds }: Catalogue, rows: number, delta: number): string {
  return JSON.stringify({ updates: locationIds.slice(0, rows).map((locationId) => ({ locationId, delta })) });
}
