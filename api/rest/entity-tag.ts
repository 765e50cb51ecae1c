import { refuseAt } from '../../shared/contract/faults.js';
import { succeed } from '../../shared/domain/errors.js';
import type { Result } from '../../shared/domain/errors.js';

/** The strong tag of a version of a material's fields (contract §7, RFC 9110 §8.8.3). */
export function entityTag(version: number): string {
  return `"${version}"`;
}

/**
 * The versions that `If-Match` names (RFC 9110 §13.1.1). Undefined without the header, and for `*`, which any existing
 * material matches. Tags that this service never gives are left out, and so are weak ones, because the comparison is
 * the strong one: an empty list matches nothing. INVALID_INPUT if the header is no list of tags.
 */
export function readIfMatch(header: string | undefined): Result<number[] | undefined> {
  if (header === undefined || header.trim() === '*') return succeed(undefined);
  const tags = readTags(header);
  if (tags === undefined || tags.length === 0) return badHeader;
  return succeed(tags.flatMap((tag) => ownTag.exec(tag)?.[1] ?? []).map(Number));
}

/**
 * What a client has to know where its `If-Match` failed and has a tag of ours that was changed on the way: it would
 * read the same tag again, and fail again. Undefined if there is none.
 */
export function explainChangedTag(header = ''): string | undefined {
  for (const tag of readTags(header) ?? []) {
    const [, version] = changedTag.exec(tag) ?? [];
    if (version !== undefined && !ownTag.test(tag)) {
      return `${tag} never matches: the tag was "${version}", and a proxy that compresses may have changed it.`;
    }
  }
  return undefined;
}

/** The tags of a list, as they are written there; undefined if it is no list of tags. */
function readTags(header: string): string[] | undefined {
  const tags: string[] = [];
  element.lastIndex = 0;
  while (element.lastIndex < header.length) {
    const found = element.exec(header);
    if (found === null) return undefined;
    const [, tag] = found;
    // A list may have empty elements (RFC 9110 §5.6.1).
    if (tag !== undefined) tags.push(tag);
  }
  return tags;
}

const badHeader = refuseAt(
  'If-Match',
  'If-Match must be * or a list of entity tags in double quotes, such as "3", as ETag gives them.',
);

/** One element of the list, which is a tag (it may hold commas) or empty, with the comma after it. */
const element = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;
const ownTag = /^"([1-9]\d{0,9})"$/;
/** Ours, or one of ours that is weak, as nginx makes it to compress, or has an ending, as Apache adds one. */
const changedTag = /^(?:W\/)?"([1-9]\d{0,9})(?:-{1,2}[a-z]{1,8})?"$/;
