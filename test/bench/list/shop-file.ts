import { createWriteStream } from 'node:fs';
import { once } from 'node:events';
import { diceOf } from '../../support/dice.js';

/** The same vendors at every size, so that each has a hundredth of a shop's materials. */
export const vendorCount = 100;

const woods = ['Oak', 'Birch', 'Steel', 'Brass', 'Cotton', 'Linen', 'Wax', 'Glass', 'Paper', 'Copper'];
const things = ['board', 'screw', 'sheet', 'thread', 'label', 'tube', 'ring', 'panel', 'rod', 'foil'];
const colours = ['small', 'medium', 'large', 'red', 'blue', 'green'];

/**
 * A file to import: a fifth without a variant's name, a tenth without a sku, a twentieth without a vendor, all with
 * stock at one location. Its hexadecimal words allow for a search that only a few materials match.
 */
export async function writeShopFile(path: string, count: number, locationId: string): Promise<void> {
  const dice = diceOf(count);
  const file = createWriteStream(path);
  file.write(
    'productName,variantName,sku,unit,unitCost,unitPrice,vendor,specifications,weightValue,weightUnitId,levels\n',
  );
  for (let index = 0; index < count; index += 1) {
    const word = Math.imul(index, 2_654_435_761).toString(16).replace('-', 'f').padStart(8, '0');
    const cells = [
      `${dice.pick(woods)} ${dice.pick(things)} ${word.slice(0, 6)}`,
      index % 5 === 0 ? '' : `${dice.pick(colours)} ${index % 1_000}`,
      index % 10 === 0 ? '' : `SKU-${word.toUpperCase()}`,
      'pcs',
      index % 7 === 0 ? '' : dice.below(100_000) / 100,
      dice.below(100_000) / 100,
      index % 20 === 0 ? '' : `Vendor ${dice.below(vendorCount)}`,
      `"Grade ${dice.below(9)}, as delivered"`,
      dice.below(1_000) / 10,
      'kg',
      `${locationId}:${dice.below(500)}`,
    ];
    if (!file.write(`${cells.join(',')}\n`)) await once(file, 'drain');
  }
  file.end();
  await once(file, 'close');
}
