/** Where a page of a connection ends (https://shopify.dev/docs/api/usage/pagination-graphql). */
export interface PageInfo {
  hasNextPage: boolean;
  endCursor: string | null;
}

/** A cursor is stored between pages, so it must be text that Postgres takes; its `maxLength` is the table's too. */
const pageInfoSchema = {
  type: 'object',
  required: ['hasNextPage', 'endCursor'],
  properties: {
    hasNextPage: { type: 'boolean' },
    endCursor: { type: ['string', 'null'], minLength: 1, maxLength: 4_096, format: 'text' },
  },
} as const;

/** A page of at most so many items, each of this schema. */
export function pageSchema(itemsMax: number, items: object): object {
  return {
    type: 'object',
    required: ['nodes', 'pageInfo'],
    properties: { nodes: { type: 'array', maxItems: itemsMax, items }, pageInfo: pageInfoSchema },
  };
}

/**
 * The cursor to go on with, or null after the last page. If there should be more and nothing leads there, a sentence
 * for operators: the page is empty, has no cursor, or the one just asked for, which would come again and again.
 */
export function nextCursor(
  { hasNextPage, endCursor }: PageInfo,
  page: { after: string | null; size: number },
): { ok: true; next: string | null } | { ok: false; detail: string } {
  if (!hasNextPage) return { ok: true, next: null };
  if (page.size === 0) return { ok: false, detail: 'an empty page that is not the last' };
  if (endCursor === null || endCursor === page.after) return { ok: false, detail: 'the cursor does not move' };
  return { ok: true, next: endCursor };
}
