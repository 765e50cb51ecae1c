import { listQuerySchema } from '../../shared/contract/list-query.js';
import type { QueryParameters } from '../../shared/contract/read-query.js';

/**
 * Each link repeats the search and the filters, escaped: four links made 180 KB of a request of 15 KB. Node's own
 * client takes 16 KiB of headers, and nginx by default a page of 4 KiB.
 */
const linkBytesMax = 3_072;

/** If each page holds one material, a shop with more materials than this has more pages than may be asked for. */
const { maximum: pageMax } = listQuerySchema.properties.page;

/**
 * `first`, `prev`, `next` and `last` (RFC 8288), relative to the request's own address: the host that the client sees
 * may be a proxy's. Past the end, `prev` is the last page that there is.
 *
 * @returns only `prev` and `next` if all would be too long, and undefined if those are too, or if there are none; no
 *   link leads to a page that would be refused
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

/** The parameters beside `page` that determine the list; an unknown one is left out. */
function otherParameters(query: QueryParameters): string {
  const others = new URLSearchParams();
  for (const [name, values] of query) {
    if (name === 'page' || !Object.hasOwn(listQuerySchema.properties, name)) continue;
    for (const value of values) others.append(name, value);
  }
  return others.size === 0 ? '' : `&${others.toString()}`;
}
