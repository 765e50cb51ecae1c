import { connectedMaterialSchema, materialSchema } from '../../../shared/contract/material.js';
import { materialQuerySchema } from '../../../shared/contract/material-query.js';
import type { MaterialQuery } from '../../../shared/contract/material-query.js';
import { succeed } from '../../../shared/domain/errors.js';
import { answered } from '../../operations/dispatch-answer.js';
import { getMaterial } from '../../operations/get-material.js';
import { readArguments } from '../arguments.js';
import { createTool } from '../tool.js';

/** GET /v1/raw-materials/{variantId} as a tool. */
export const getRawMaterial = createTool<{ variantId: string } & MaterialQuery>({
  name: 'get_raw_material',
  title: 'Get a raw material',
  description:
    'All fields of one raw material, and, with `includeConnections`, the bills of materials and sub-assemblies that use it.',
  scope: 'read',
  idempotent: true,
  input: readArguments(materialQuerySchema.properties),
  // One schema for both forms: `connections` is there only where it was asked for.
  output: { ...connectedMaterialSchema, title: materialSchema.title, required: materialSchema.required },
  run: async (services, caller, { variantId, includeConnections = false }) => {
    const found = await getMaterial(services, caller, { variantId, includeConnections });
    return answered(found.ok ? succeed(found.data.material) : found);
  },
});
