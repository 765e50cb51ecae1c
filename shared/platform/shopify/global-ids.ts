export const variantGidPrefix = 'gid://shopify/ProductVariant/';
export const locationGidPrefix = 'gid://shopify/Location/';

/** Our tables and paths know the digits alone (contract §1). */
export const variantGidSchema = { type: 'string', pattern: `^${variantGidPrefix}[1-9][0-9]{0,19}$` } as const;
export const locationGidSchema = { type: 'string', pattern: `^${locationGidPrefix}[1-9][0-9]{0,19}$` } as const;
