import type { Command } from 'commander';
import { wholeNumber } from './option-parsers.js';

/** The options of a command on what belongs to a shop, such as its keys. */
export interface ShopOption {
  json?: true;
  shop: number;
}

export function addShopOption(command: Command): Command {
  return addJsonOption(command.requiredOption('--shop <id>', "the shop's id", wholeNumber(1)));
}

export function addJsonOption(command: Command): Command {
  return command.option('--json', 'one JSON document on stdout');
}
