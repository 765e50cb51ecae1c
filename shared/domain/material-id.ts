/** What a `{variantId}` of a path says about itself, before any look-up (spec §Raw material, contract §1). */
export type MaterialIdKind =
  /** 1–20 digits: a variant of the commerce platform. */
  | 'platform'
  /** `VMAT-` and the grammar of a virtual material. */
  | 'virtual'
  /** Begins with `VMAT-` but cannot be an id: simply unknown (404), and never sent to a queue. */
  | 'unknown'
  /** Any other form, `gid://…` included: 400. */
  | 'invalid';

const platformId = /^\d{1,20}$/;
const virtualId = /^VMAT-[A-Za-z0-9-]{1,64}$/;

export function materialIdKind(id: string): MaterialIdKind {
  if (platformId.test(id)) return 'platform';
  if (virtualId.test(id)) return 'virtual';
  return id.startsWith('VMAT-') ? 'unknown' : 'invalid';
}

/**
 * The message for a material that does not exist and for one of another shop. It is the same everywhere, because
 * clients must not be able to tell the two apart (contract §1).
 */
export const noSuchMaterial = 'No such raw material.';

/** The id of a new virtual material: `VMAT-VAR-<uuid>` (spec §Raw material). */
export function virtualMaterialId(uuid: string): string {
  return `VMAT-VAR-${uuid}`;
}
