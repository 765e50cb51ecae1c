import type { Catalogue } from '../catalogue.js';
import { createRandom } from '../random.js';
import { materialsIn, pickerOf } from '../scenario.js';
import type { Ask, Scenario } from '../scenario.js';

export interface PlannedRequest {
  /** The whole request as it goes over the wire. */
  message: string;
  /** Index of its kind in the scenario's mix. */
  kind: number;
  /** Index of the material that it is about; 0 where it is about none. */
  material: number;
  /** Units that each of its rows adds; they are at the first `rows` locations. */
  delta: number;
  /** 0 where it only reads. */
  rows: number;
}

export interface RequestPlan {
  scenario: Scenario;
  catalogue: Catalogue;
  /** As in `Host`. */
  authority: string;
  /** Before `/raw-materials`, as `/v1`. */
  basePath: string;
  seed: number;
}

/**
 * Deltas are 1 to this, so that a change that was counted twice or lost shows in the sum. All are above zero: the clamp
 * never hides one.
 */
const deltaMax = 3;

/** Pages that lists ask for: nobody leafs through more. */
const pagesMax = 20;

/** The requests of a scenario, one a call, in the same order for the same seed. */
export function planRequests(plan: RequestPlan): () => PlannedRequest {
  const { scenario, catalogue, seed } = plan;
  const random = createRandom(seed);
  const nextMaterial = pickerOf(scenario, materialsIn(scenario, catalogue.materialIds.length), random);
  const makers = scenario.mix.map((ask, kind) => makerOf(plan, ask, kind));
  const nextKind = chooserOf(
    scenario.mix.map(({ weight }) => weight),
    random,
  );
  return () => {
    const kind = nextKind();
    const make = makers[kind];
    if (make === undefined) throw new RangeError('a scenario without requests');
    return make(nextMaterial, random);
  };
}

type Maker = (nextMaterial: () => number, random: () => number) => PlannedRequest;

function makerOf(plan: RequestPlan, ask: Ask, kind: number): Maker {
  const { catalogue, authority, basePath } = plan;
  const host = `HTTP/1.1\r\nHost: ${authority}\r\n`;
  const head = `${host}Authorization: Bearer ${catalogue.key}\r\n`;
  const get = (path: string): string => `GET ${basePath}${path} ${head}\r\n`;
  const read = { kind, delta: 0, rows: 0 };
  const idOf = (material: number) => catalogue.materialIds[material] ?? '';
  switch (ask.ask) {
    case 'health': {
      const request = { ...read, message: `GET /healthz ${host}\r\n`, material: 0 };
      return () => request;
    }
    case 'list': {
      const pages = Math.max(1, Math.min(pagesMax, Math.ceil(catalogue.materialIds.length / ask.pageSize)));
      const query = `pageSize=${ask.pageSize}${ask.query === undefined ? '' : `&${ask.query}`}`;
      const messages = Array.from({ length: pages }, (_, page) => get(`/raw-materials?${query}&page=${page + 1}`));
      return (_, random) => ({ ...read, message: messages[Math.floor(random() * pages)] ?? '', material: 0 });
    }
    case 'levels':
    case 'material': {
      const suffix = ask.ask === 'levels' ? '/inventory' : '';
      return (nextMaterial) => {
        const material = nextMaterial();
        return { ...read, message: get(`/raw-materials/${idOf(material)}${suffix}`), material };
      };
    }
    case 'adjust': {
      const { rows } = ask;
      const tails = Array.from({ length: deltaMax }, (_, index) => {
        const body = bodyOf(catalogue, rows, index + 1);
        return `/inventory ${head}Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body, 'latin1')}\r\n\r\n${body}`;
      });
      return (nextMaterial, random) => {
        const material = nextMaterial();
        const delta = 1 + Math.floor(random() * deltaMax);
        const message = `PATCH ${basePath}/raw-materials/${idOf(material)}${tails[delta - 1] ?? ''}`;
        return { message, kind, material, delta, rows };
      };
    }
  }
}

/** ASCII only, whatever the ids of locations are: a message is written a byte a character. */
function bodyOf({ locationIds }: Catalogue, rows: number, delta: number): string {
  const updates = locationIds.slice(0, rows).map((locationId) => ({ locationId, delta }));
  return JSON.stringify({ updates }).replace(
    /[\u0080-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** Chooses indices, each as often as its weight says. If there is only one, no random number is drawn. */
function chooserOf(weights: readonly number[], random: () => number): () => number {
  if (weights.length === 1) return () => 0;
  const bounds: number[] = [];
  let sum = 0;
  for (const weight of weights) bounds.push((sum += weight));
  return () => {
    const wanted = random() * sum;
    const found = bounds.findIndex((bound) => wanted < bound);
    return found < 0 ? bounds.length - 1 : found;
  };
}
