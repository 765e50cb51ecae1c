/**
 * Why a field update may not go on (contract §7 `If-Match`, RFC 9110 §13.1.1); undefined where it may.
 *
 * @param version the present version of the fields
 * @param ifVersions those the client named; undefined where it named none and so takes any
 */
export function failedPrecondition(version: number, ifVersions: readonly number[] | undefined): string | undefined {
  if (ifVersions === undefined || ifVersions.includes(version)) return undefined;
  return `The fields are at version "${version}", which If-Match does not name. Nothing was changed.`;
}
