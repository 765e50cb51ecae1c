import type { Command } from 'commander';
import { wholeNumber } from './option-parsers.js';

/** Of a command about what is a shop's. */
export interface ShopOption {
  json?: true;
  shop: number;
}

export function addShopOption(command: Command): Command {
  return command
    .requiredOption('--shop <id>', "the shop's id", wholeNumber(1))
    .option('--json', 'one JSON document on stdout');
}
