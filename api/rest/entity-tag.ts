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
  const versions: number[] = [];
  let count = 0;
  element.lastIndex = 0;
  while (element.lastIndex < header.length) {
    const found = element.exec(header);
    if (found === null) return badHeader;
    const [, tag] = found;
    // A list may have empty elements (RFC 9110 §5.6.1).
    if (tag === undefined) continue;
    count += 1;
    const [, version] = ownTag.exec(tag) ?? [];
    if (version !== undefined) versions.push(Number(version));
  }
  return count === 0 ? badHeader : succeed(versions);
}

const badHeader = refuseAt(
  'If-Match',
  'If-Match must be * or a list of entity tags in double quotes, such as "3", as ETag gives them.',
);

/** One element of the list, which is a tag (it may hold commas) or empty, with the comma after it. */
const element = /[ \t]*(?:((?:W\/)?"[\x21\x23-\x7e\x80-\xff]*")[ \t]*)?(?:,|$)/y;
const ownTag = /^"([1-9]\d{0,9})"$/;
