import type { Schema } from '../../shared/contract/published-formats.js';

// The parts of arguments that several tools share.

const variantIdArgument = {
  type: 'string',
  format: 'text',
  description:
    'The id of a raw material: `VMAT-…` for a virtual one, digits for one of the commerce platform. Take it from list_raw_materials.',
} as const;

/** The arguments of a read of one material. */
export function readArguments(properties: Schema): Schema {
  return {
    type: 'object',
    required: ['variantId'],
    properties: { variantId: variantIdArgument, ...properties },
    additionalProperties: false,
  };
}

export const virtualIdArgument = {
  type: 'string',
  format: 'text',
  description: 'The id of a virtual raw material, `VMAT-…`. Materials of the commerce platform cannot be changed here.',
} as const;

/** Visible ASCII, as in the `Idempotency-Key` header of the REST twin (contract §7). */
export const idempotencyKeyArgument = {
  type: 'string',
  pattern: '^[!-~]{1,255}$',
  description:
    'A key of your own for this one change, such as a new UUID: 1 to 255 visible ASCII characters, remembered for ' +
    '24 hours. Repeat the very same call with the same key after no answer, OUTCOME_UNKNOWN or a failure of the ' +
    'service, and it is applied once. After INVALID_INPUT, NOT_FOUND or CONFLICT take a new key: the refusal may ' +
    'be remembered. The same key with other arguments is refused. For another `variantId`, or with another tool, ' +
    'it is another key.',
} as const;
