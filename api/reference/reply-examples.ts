const meta = { requestId: '019ab8f2-6c00-7d3a-8f21-4b5c6d7e8f90', apiVersion: '1.0' } as const;
const time = '2026-01-15T09:30:00.000Z';

const waxBlend = {
  id: 'VMAT-VAR-5a8f9c1e-3d0b-4c6e-9b7a-1f2e3d4c5b6a',
  variantId: 'VMAT-VAR-5a8f9c1e-3d0b-4c6e-9b7a-1f2e3d4c5b6a',
  origin: 'virtual',
  productName: 'Wax blend',
  variantName: 'Container, soy and beeswax',
  sku: 'MIX-WAX-CON',
  unit: 'kg',
  unitCost: 4.86,
  unitPrice: null,
  inventoryQuantity: 84,
  vendor: 'In-house',
  specifications: null,
  imageUrl: null,
  isNonEssentialMaterial: false,
  weightValue: null,
  weightUnitId: null,
  usage: { billOfMaterials: 1, subAssemblies: 0 },
  createdAt: time,
  updatedAt: time,
};

const glassJar = {
  ...waxBlend,
  id: '8005',
  variantId: '8005',
  origin: 'platform',
  productName: 'Glass jar',
  variantName: '220 ml amber',
  sku: 'JAR-220-AM',
  unit: 'pcs',
  unitCost: 0.62,
  unitPrice: 1.8,
  inventoryQuantity: 4606,
  vendor: 'Clearline Glass',
};

const rowOk = { ok: true, id: waxBlend.id };
const unknownLocation = {
  index: 2,
  ok: false,
  error: { code: 'NOT_FOUND', message: 'The shop has no location 79999.' },
};

const ledgerEntry = {
  locationId: '70001',
  requested: { delta: -12.5 },
  applied: -12.5,
  clamped: false,
  at: time,
  channel: 'rest',
  keyId: '4f9KcQ2mZx7L',
  requestId: meta.requestId,
  operationId: meta.requestId,
  reason: 'Poured',
  reference: 'batch 118',
};

/**
 * What the running service answered to `requestExamples` and to the plain reads; only ids of requests and keys, times
 * and a cursor are replaced. A test asks again and compares (test/http/reference/examples.test.ts).
 */
export const replyExamples = {
  stockTaken: {
    summary: 'Both rows applied',
    value: {
      data: {
        results: [
          { index: 0, ...rowOk },
          { index: 1, ...rowOk },
        ],
        okCount: 2,
        failedCount: 0,
        skippedCount: 0,
      },
      meta,
    },
  },
  listPage: {
    summary: 'Two materials, one of each origin',
    value: {
      data: {
        items: [glassJar, waxBlend],
        totalCount: 2,
        page: 1,
        pageSize: 50,
        totalPages: 1,
        availableVendors: ['Clearline Glass', 'In-house'],
      },
      meta,
    },
  },
  material: { summary: 'A virtual material', value: { data: waxBlend, meta } },
  connectedMaterial: {
    summary: 'With includeConnections=true',
    value: {
      data: {
        ...waxBlend,
        connections: {
          billOfMaterials: [{ id: 'bom-31', name: 'Amber jar candle', quantity: 0.18 }],
          subAssemblies: [],
        },
      },
      meta,
    },
  },
  levels: {
    summary: 'A virtual material at two locations',
    value: {
      data: {
        variantId: waxBlend.id,
        origin: 'virtual',
        totalQuantity: 84,
        levels: [
          { locationId: '70001', quantity: 71.75, updatedAt: time },
          { locationId: '70002', quantity: 12.25, updatedAt: time },
        ],
      },
      meta,
    },
  },
  reported: {
    summary: 'With Prefer: return=representation, or as a dry run; the second row was truncated at zero',
    value: {
      data: {
        results: [
          { index: 0, ...rowOk, locationId: '70001', previous: 71.75, applied: -12.5, level: 59.25, clamped: false },
          { index: 1, ...rowOk, locationId: '70002', previous: 12.25, applied: -12.25, level: 0, clamped: true },
          unknownLocation,
        ],
        okCount: 2,
        failedCount: 1,
        skippedCount: 0,
      },
      meta,
    },
  },
  someRowsFailed: {
    summary: 'Two rows applied, one failed; the second was truncated at zero, and is ok',
    value: {
      data: {
        results: [{ index: 0, ...rowOk }, { index: 1, ...rowOk }, unknownLocation],
        okCount: 2,
        failedCount: 1,
        skippedCount: 0,
      },
      meta,
    },
  },
  updatedMaterial: {
    summary: 'The state after the commit',
    value: { data: { ...waxBlend, unitCost: 5.02, vendor: null, inventoryQuantity: 46.75 }, meta },
  },
  history: {
    summary: 'The newest two changes at one location',
    value: {
      data: {
        items: [
          { ...ledgerEntry, sequence: 3, previous: 59.25, level: 46.75 },
          { ...ledgerEntry, sequence: 2, previous: 71.75, level: 59.25 },
        ],
        nextCursor: 'MTc2ODQ2OTQwMDAwMC4z',
      },
      meta,
    },
  },
  healthy: { summary: 'The process runs', value: { data: { status: 'ok' }, meta } },
  ready: { summary: 'Postgres, Redis and a worker answer', value: { data: { status: 'ready' }, meta } },
} as const;
