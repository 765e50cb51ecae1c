import { v5 as uuidv5 } from 'uuid';
import type { NewBill } from '../database/bills.js';
import type { NewMaterial } from '../database/create-materials.js';
import { virtualMaterialId } from '../domain/material-id.js';
import { toMicros } from '../domain/quantity.js';
import { standInLocations, standInVariants } from './stand-in-platform.js';

/** The demo's ids follow from its names, so that a call in the README works on every machine. */
function demoMaterialId(name: string): string {
  return virtualMaterialId(uuidv5(name, demoNamespace));
}

const demoNamespace = '6f1d3c0a-52de-4d0b-9d2c-3a6f0e7b8c41';

export interface DemoMaterial extends NewMaterial {
  /** Of a virtual one, in units, at the shop's locations in their order; absent is none. */
  openingStock?: readonly number[];
}

/** A workshop for candles and soaps: what it makes up, decants and counts by itself. */
export const demoVirtualMaterials: readonly DemoMaterial[] = [
  item('Wax blend', 'Container, soy and beeswax', 'MIX-WAX-CON', 'kg', 4.86, null, 'In-house', [84.5, 12.25]),
  item('Wax blend', 'Pillar, hard', 'MIX-WAX-PIL', 'kg', 5.12, null, 'In-house', [31.75]),
  item('Fragrance mix', 'Lavender and cedar', 'MIX-FRA-LAC', 'mL', 0.092, null, 'In-house', [2_450, 380]),
  item('Fragrance mix', 'Orange and clove', 'MIX-FRA-ORC', 'mL', 0.088, null, 'In-house', [1_120]),
  item('Lye solution', '33 %', 'MIX-LYE-33', 'L', 1.35, null, 'In-house', [18.5]),
  item('Soap base', 'Olive and shea', 'MIX-SOA-OLS', 'kg', 3.97, null, 'In-house', [64.2, 8]),
  item('Olive oil', 'Pomace, from the tank', 'OIL-OLI-TNK', 'L', 4.15, null, 'Verde Agricola', [412.75]),
  item('Coconut oil', 'Refined, from the drum', 'OIL-COC-DRM', 'kg', 3.4, null, 'Verde Agricola', [96.5, 14]),
  item('Sodium hydroxide', 'Flakes', 'CHE-NAO-FLK', 'kg', 2.2, null, 'Brenner Chemie', [37.6]),
  item('Citric acid', 'Monohydrate', 'CHE-CIT-MON', 'kg', 3.1, null, 'Brenner Chemie', [12.4]),
  item('Mica', 'Pearl white', 'COL-MIC-WHT', 'g', 0.041, null, 'Brenner Chemie', [1_850.5]),
  item('Mica', 'Copper', 'COL-MIC-COP', 'g', 0.047, null, 'Brenner Chemie', [620.25]),
  item('Mica', 'Deep blue', 'COL-MIC-BLU', 'g', 0.047, null, 'Brenner Chemie', []),
  item('Dried lavender', 'Blossoms', 'BOT-LAV-DRY', 'g', 0.018, null, 'Alder & Bloom', [4_300, 250, 90]),
  item('Oat flakes', 'Fine', 'BOT-OAT-FIN', 'kg', 1.15, null, 'Verde Agricola', [22]),
  item('Sea salt', 'Coarse', 'BOT-SAL-COA', 'kg', 0.85, null, 'Verde Agricola', [48.5, 6]),
  item('Front label', 'Lavender and cedar', 'LAB-FRO-LAC', 'pcs', 0.06, 0.15, 'Paper Lane Press', [3_200, 400]),
  item('Front label', 'Orange and clove', 'LAB-FRO-ORC', 'pcs', 0.06, 0.15, 'Paper Lane Press', [1_750]),
  item('Warning label', 'Candle, five languages', 'LAB-WAR-CAN', 'pcs', 0.015, null, 'Paper Lane Press', [9_800, 900]),
  item('Tissue paper', 'Cream', 'PAC-TIS-CRE', 'pcs', 0.03, null, 'Paper Lane Press', [5_600, 1_200, 450], true),
  item('Wood wool', null, 'PAC-WOO-WOL', 'kg', 2.6, null, 'Threadworks', [14.75], true),
  item('Hemp twine', '2 mm', 'PAC-TWI-HEM', 'm', 0.045, null, 'Threadworks', [1_340.5, 210], true),
  item('Wick sticker', '20 mm', 'WCK-STI-20', 'pcs', 0.02, null, 'Threadworks', [12_500]),
  item('Thank-you card', null, null, 'pcs', 0.11, null, 'Paper Lane Press', [800, 0, 350], true),
  // Shops have such materials too: nothing known but the name, and never counted.
  { id: demoMaterialId('Offcuts'), origin: 'virtual', productName: 'Offcuts', openingStock: [] },
];

/** The platform's variants as the mirror holds them: the same ids and skus, the sum of their levels. */
export const demoPlatformMaterials: readonly NewMaterial[] = standInVariants.map((variant) => ({
  id: variant.id,
  origin: 'platform',
  productName: variant.productTitle,
  variantName: variant.title,
  sku: variant.sku,
  vendor: variant.vendor,
  unit: variant.unit,
  unitCost: variant.cost,
  unitPrice: variant.price,
  mirroredQuantity: toMicros(variant.levels.reduce((sum, { quantity }) => sum + quantity, 0)),
}));

export const demoLocations = standInLocations;

/** Components by sku; of both origins. */
export const demoBills: readonly NewBill[] = [
  bill('BOM-CANDLE-LAC', 'bill_of_materials', 'Candle in amber glass, lavender and cedar', {
    'MIX-WAX-CON': 0.185,
    'MIX-FRA-LAC': 14.5,
    'JAR-220-AM': 1,
    'LID-BAM-75': 1,
    'WCK-COT-50': 0.0024,
    'WCK-STI-20': 1,
    'LAB-FRO-LAC': 1,
    'LAB-WAR-CAN': 1,
  }),
  bill('BOM-CANDLE-ORC', 'bill_of_materials', 'Candle in clear glass, orange and clove', {
    'MIX-WAX-CON': 0.185,
    'MIX-FRA-ORC': 14.5,
    'JAR-220-CL': 1,
    'LID-BAM-75': 1,
    'WCK-COT-50': 0.0024,
    'WCK-STI-20': 1,
    'LAB-FRO-ORC': 1,
    'LAB-WAR-CAN': 1,
  }),
  bill('BOM-SOAP-LAV', 'bill_of_materials', 'Soap with lavender blossoms', {
    'MIX-SOA-OLS': 0.11,
    'BOT-LAV-DRY': 2.5,
    'OIL-LAV-500': 0.004,
    'COL-MIC-WHT': 0.6,
  }),
  bill('BOM-GIFT-BOX', 'bill_of_materials', 'Gift box', {
    'BOX-KRA-10': 1,
    'PAC-TIS-CRE': 2,
    'PAC-WOO-WOL': 0.04,
    'PAC-TWI-HEM': 0.9,
    'RIB-GIF-100': 0.012,
  }),
  bill('SUB-WAX-CON', 'sub_assembly', 'Wax blend for containers, 10 kg', {
    'WAX-SOY-20': 0.4,
    'WAX-BEE-1': 2,
  }),
  bill('SUB-FRA-LAC', 'sub_assembly', 'Fragrance mix, lavender and cedar, 1 L', {
    'OIL-LAV-500': 1.2,
    'OIL-CED-500': 0.8,
  }),
  bill('SUB-SOAP-BASE', 'sub_assembly', 'Soap base, olive and shea, 10 kg', {
    'OIL-OLI-TNK': 6.2,
    'OIL-COC-DRM': 1.4,
    'BUT-SHE-5': 0.18,
    'MIX-LYE-33': 3.1,
  }),
];

export const loadLocations = Array.from({ length: 100 }, (_, index) => ({
  id: String(90_001 + index),
  name: `Bay ${String(index + 1).padStart(3, '0')}`,
}));

/** Without opening stock: what a load run finds is what load runs left. */
export const loadMaterials: readonly NewMaterial[] = Array.from({ length: 1_000 }, (_, index) => {
  const number = String(index + 1).padStart(4, '0');
  return {
    id: demoMaterialId(`load/${number}`),
    origin: 'virtual',
    productName: `Load material ${number}`,
    sku: `LOAD-${number}`,
    unit: 'pcs',
    unitCost: 1,
    vendor: `Load vendor ${String((index % 20) + 1).padStart(2, '0')}`,
  };
});

export const basicLocations = [{ id: '60001', name: 'Back room' }];
export const basicMaterials: readonly NewMaterial[] = [
  { id: demoMaterialId('basic/thread'), origin: 'virtual', productName: 'Sewing thread', unit: 'm', unitCost: 0.01 },
  { id: demoMaterialId('basic/felt'), origin: 'virtual', productName: 'Felt sheet', unit: 'pcs', unitCost: 0.8 },
];

function item(
  productName: string,
  variantName: string | null,
  sku: string | null,
  unit: string,
  unitCost: number,
  unitPrice: number | null,
  vendor: string,
  openingStock: readonly number[],
  isNonEssentialMaterial = false,
): DemoMaterial {
  const weight = unit === 'kg' || unit === 'g' ? { weightValue: 1, weightUnitId: unit } : {};
  return {
    id: demoMaterialId(sku ?? productName),
    origin: 'virtual',
    productName,
    variantName,
    sku,
    unit,
    unitCost,
    unitPrice,
    vendor,
    isNonEssentialMaterial,
    ...weight,
    openingStock,
  };
}

function bill(id: string, kind: NewBill['kind'], name: string, quantityBySku: Record<string, number>): NewBill {
  const components = Object.entries(quantityBySku).map(([sku, quantity]) => {
    const found = [...demoVirtualMaterials, ...demoPlatformMaterials].find((material) => material.sku === sku);
    if (found === undefined) throw new Error(`bill ${id} has a component ${sku} that is not there`);
    return { materialId: found.id, quantity: toMicros(quantity) };
  });
  return { id, kind, name, components };
}
