import { listQuerySchema } from '../../shared/contract/list-query.js';
import type { QueryParameters } from '../../shared/contract/read-query.js';

/**
 * All links together. Each repeats the search and the filters, escaped: for a request of 15 KB four of them were 180
 * KB. Node's own client accepts 16 KiB of headers, and nginx by default 4 KiB.
 */
const linkBytesMax = 3_072;

/** The last page that may be requested. A shop has more if its materials, one a page, are more. */
const { maximum: pageMax } = listQuerySchema.properties.page;

/**
 * The `Link` header with `first`, `prev`, `next` and `last` (RFC 8288). They have no host, and of the path only its
 * last part, because the client may see the rest of a proxy. A query alone would do by RFC 3986, but by RFC 2396 before
 * it, and so for java.net.URI, it loses that part. On a page past the end, `prev` is the last page there is. No link
 * leads to a page that would be refused.
 *
 * @returns only `prev` and `next` if all four would be too long; undefined if even those are, or if there are none
 */
export function pageLinks(
  query: QueryParameters,
  { page, totalPages }: { page: number; totalPages: number },
): string | undefined {
  const last = Math.max(1, totalPages);
  const rest = otherParameters(query);
  const link = (rel: string, target: number) => `<raw-materials?page=${target}${rest}>; rel="${rel}"`;
  const near = [
    ...(page > 1 ? [link('prev', Math.min(page - 1, last))] : []),
    ...(page < Math.min(totalPages, pageMax) ? [link('next', page + 1)] : []),
  ];
  const candidates = [[link('first', 1), ...near, ...(last <= pageMax ? [link('last', last)] : [])], near];
  return candidates.map((links) => links.join(', ')).find(({ length }) => length > 0 && length <= linkBytesMax);
}

/** The parameters other than `page` that determine the list. Unknown ones are left out. */
function otherParameters(query: QueryParameters): string {
  const others = new URLSearchParams();
  for (const [name, values] of query) {
    if (name === 'page' || !Object.hasOwn(listQuerySchema.properties, name)) continue;
    for (const value of values) others.append(name, value);
  }
  return others.size === 0 ? '' : `&${others.toString()}`;
}
