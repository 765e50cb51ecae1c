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
  return result.ok ? { result, headers: { Link: pageLinks(path, query, result.data) } } : { result };
}

/**
 * `first`, `prev`, `next` and `last` (RFC 8288), relative to the request's own address: what the client sees as host may
 * be a proxy's. Past the end, `prev` is the last page that there is.
 */
export function pageLinks(
  path: string,
  query: QueryParameters,
  { page, totalPages }: { page: number; totalPages: number },
): string {
  const last = Math.max(1, totalPages);
  const others = new URLSearchParams();
  for (const [name, values] of query) {
    if (name !== 'page') for (const value of values) others.append(name, value);
  }
  const rest = others.size === 0 ? '' : `&${others.toString()}`;
  const link = (rel: string, target: number) => `<${path}?page=${target}${rest}>; rel="${rel}"`;
  const links = [link('first', 1)];
  if (page > 1) links.push(link('prev', Math.min(page - 1, last)));
  if (page < totalPages) links.push(link('next', page + 1));
  links.push(link('last', last));
  return links.join(', ');
}
