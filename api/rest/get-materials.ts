import { listQuerySchema } from '../../shared/contract/list-query.js';
import { readListQuery } from '../../shared/contract/read-query.js';
import type { QueryParameters } from '../../shared/contract/read-query.js';
import type { Reply } from '../http/request-state.js';
import type { RouteRequest } from '../http/route.js';
import { listMaterials } from '../operations/list-materials.js';
import type { Services } from '../services.js';

/** GET /v1/raw-materials */
export async function getMaterials(services: Services, { caller, path, query }: RouteRequest): Promise<Reply> {
  const read = readListQuery(query);
  if (!read.ok) return { result: read };
  const result = await listMaterials(services, caller, read.data);
  if (!result.ok) return { result };
  const links = pageLinks(path, query, result.data);
  return links === undefined ? { result } : { result, headers: { Link: links } };
}

/**
 * Each link repeats the search and the filters, escaped: four of them made 180 KB of a request of 15. Node's own client takes
 * 16 KiB of headers, and nginx by default a page of 4 KiB.
 */
const linkBytesMax = 3_072;

/** A shop of more materials than that has more pages than may be asked for, where each holds one. */
const { maximum: pageMax } = listQuerySchema.properties.page;

/**
 * `first`, `prev`, `next` and `last` (RFC 8288), relative to the request's own address: what the client sees as host may
 * be a proxy's. Past the end, `prev` is the last page that there is.
 *
 * @returns only `prev` and `next` where all would be too long, and undefined where those are too, or are not there; none
 *   leads to a page that would be refused
 */
export function pageLinks(
  path: string,
  query: QueryParameters,
  { page, totalPages }: { page: number; totalPages: number },
): string | undefined {
  const last = Math.max(1, totalPages);
  const rest = otherParameters(query);
  const link = (rel: string, target: number) => `<${path}?page=${target}${rest}>; rel="${rel}"`;
  const near = [
    ...(page > 1 ? [link('prev', Math.min(page - 1, last))] : []),
    ...(page < Math.min(totalPages, pageMax) ? [link('next', page + 1)] : []),
  ];
  const candidates = [[link('first', 1), ...near, ...(last <= pageMax ? [link('last', last)] : [])], near];
  return candidates.map((links) => links.join(', ')).find(({ length }) => length > 0 && length <= linkBytesMax);
}

/** What makes the list another one; a parameter that it does not know is none of that. */
function otherParameters(query: QueryParameters): string {
  const others = new URLSearchParams();
  for (const [name, values] of query) {
    if (name === 'page' || !Object.hasOwn(listQuerySchema.properties, name)) continue;
    for (const value of values) others.append(name, value);
  }
  return others.size === 0 ? '' : `&${others.toString()}`;
}
