import fc from 'fast-check';
import { materialPath } from '../../support/http/material-paths.js';
import { expectUpdate } from './expect-writes.js';
import type { IfMatch, UpdateSent } from './expect-writes.js';
import { maybe, rarely } from './maybe.js';
import type { Fields, ShopModel } from './stock-model.js';
import { texts } from './texts.js';
import { command, variantIdAt, variantIndexMax } from './world.js';
import type { Command } from './world.js';
import { keyHeader, send } from './write-commands.js';
import type { Sending } from './write-commands.js';

const text = fc.constantFrom<string | null>(...texts, '', null);
const money = fc.constantFrom(0, 0.5, 4.86, 1.2345675, 1.2345674, 999_999_999.999999, 1e9, null);

const fields: fc.Arbitrary<Fields> = fc.record(
  {
    productName: fc.constantFrom(...texts),
    variantName: text,
    sku: text,
    unit: fc.constantFrom('kg', 'pcs', null),
    unitCost: money,
    unitPrice: money,
    vendor: text,
    specifications: text,
    imageUrl: fc.constantFrom('https://example.com/a.png', null),
    isNonEssentialMaterial: fc.boolean(),
    weightValue: money,
    weightUnitId: fc.constantFrom('g', null),
  },
  { requiredKeys: [] },
);

const badValues: Record<string, unknown> = {
  productName: null,
  sku: 5,
  unit: '',
  unitCost: -1,
  vendor: 'x'.repeat(256),
  imageUrl: 'ftp://example.com/a',
  isNonEssentialMaterial: 'true',
  inventoryQuantity: 1_000_000_001,
  weightValue: '1',
};

interface UpdatePlan {
  variant: number;
  fields: Fields;
  stock: string | undefined;
  bad: string[];
  hasStranger: boolean;
  ifMatch: IfMatch;
  /** One of two ways to write it. */
  ifMatchForm: boolean;
  key: string;
  hasQuery: boolean;
}

export const updatePlan: fc.Arbitrary<UpdatePlan> = fc.record({
  variant: fc.oneof({ weight: 9, arbitrary: fc.nat(2) }, { weight: 1, arbitrary: fc.nat(variantIndexMax) }),
  fields: fc.oneof({ weight: 4, arbitrary: fields }, { weight: 1, arbitrary: fc.constant({}) }),
  stock: maybe(fc.constantFrom('0', '10', '10.5', '1000000000', '3.0000005')),
  bad: fc.oneof(
    { weight: 7, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(Object.keys(badValues), { minLength: 1, maxLength: 2 }) },
  ),
  hasStranger: fc.boolean(),
  ifMatch: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom<IfMatch>('absent', 'absent', 'names it', 'any') },
    { weight: 2, arbitrary: fc.constant<IfMatch>('names another') },
    { weight: 1, arbitrary: fc.constant<IfMatch>('is none') },
  ),
  ifMatchForm: fc.boolean(),
  key: keyHeader,
  hasQuery: rarely,
});

/** A field update: any subset of the fields, the stock, preconditions, strangers, faults, keys. */
export const updateCommand: fc.Arbitrary<Command> = updatePlan.map((plan) =>
  command(`update ${JSON.stringify(plan)}`, (model, real) => send(model, real, updateSending(model, plan))),
);

export function updateSending(model: ShopModel, plan: UpdatePlan): Sending {
  const { bad, hasStranger, ifMatch, hasQuery } = plan;
  const variantId = variantIdAt(model, plan.variant);
  const good = Object.fromEntries(Object.entries(plan.fields).filter(([name]) => !bad.includes(name)));
  const stock = bad.includes('inventoryQuantity') ? undefined : plan.stock;
  const members = [
    ...Object.entries({ ...good, ...Object.fromEntries(bad.map((name) => [name, badValues[name]])) }).map(
      ([name, value]) => `"${name}":${JSON.stringify(value)}`,
    ),
    ...(stock === undefined ? [] : [`"inventoryQuantity":${stock}`]),
    ...(hasStranger ? ['"colour":{"red":1}'] : []),
  ];
  const header = ifMatchText(ifMatch, model.materials.get(variantId)?.version ?? 1, plan.ifMatchForm);
  const sent: UpdateSent = { variantId, fields: good, inventoryQuantity: stock, bad, ifMatch };
  return {
    path: materialPath(variantId),
    query: hasQuery ? '?dryRun=true' : '',
    queryFault: hasQuery ? 'dryRun' : undefined,
    headers: header === undefined ? {} : { 'if-match': header },
    key: plan.key,
    body: `{${members.join(',')}}`,
    outcome: (shop, requestId) => expectUpdate(shop, withVersionNow(sent, shop, header), requestId),
  };
}

/** A repeat names the version of then, which may be another by now. */
function withVersionNow(sent: UpdateSent, shop: ShopModel, header: string | undefined): UpdateSent {
  if (sent.ifMatch !== 'names it' && sent.ifMatch !== 'names another') return sent;
  const tag = `"${String(shop.materials.get(sent.variantId)?.version ?? 1)}"`;
  const isNamed = (header ?? '').split(', ').includes(tag);
  return { ...sent, ifMatch: isNamed ? 'names it' : 'names another' };
}

function ifMatchText(ifMatch: IfMatch, version: number, form: boolean): string | undefined {
  switch (ifMatch) {
    case 'absent':
      return undefined;
    case 'any':
      return '*';
    case 'names it':
      return form ? `"${String(version)}"` : `"x", "${String(version)}"`;
    case 'names another':
      return form ? `"${String(version + 1)}"` : `W/"${String(version)}"`;
    case 'is none':
      return String(version);
  }
}
