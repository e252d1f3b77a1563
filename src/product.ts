import { join } from 'node:path';
import type { Product } from './platform/config/product.js';

/**
 * The names of the product. A team changes them here and in package.json. docs/upgrade.md lists what
 * cannot read this file.
 */
export const PRODUCT: Product = {
  name: 'animal-adoption-store',
  title: 'Animal Adoption Store Service',
  summary:
    'A store of individual animals that are available for adoption. Clients list, add and get animals.',
  apiVersion: '1.0.0',
  keyPrefix: 'aas_',
  realm: 'pets',
  command: 'pets',
  database: 'pets',
  metricsPrefix: 'pets_',
  redisPrefix: 'aas:',
  folder: join(import.meta.dirname, '..'),
  codeFolder: import.meta.dirname,
};
