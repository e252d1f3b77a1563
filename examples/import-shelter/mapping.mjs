// @ts-check
// Maps the values of a row to an animal.

import { parse } from 'csv-parse/sync';
import { ImportError } from './import-error.mjs';

/** The service's PetStatus. */
export const PET_STATUSES = ['available', 'pending', 'sold'];

/**
 * @typedef {object} Mapping
 * @property {string} name column of the name
 * @property {string | undefined} [nameDefault] the name of rows with a blank name
 * @property {string | undefined} [category] column of the category
 * @property {string | undefined} [status] column of the status
 * @property {Map<string, string>} categoryMap value in the file → decimal integer
 * @property {Map<string, string>} statusMap value in the file → PetStatus
 * @property {string | undefined} [categoryDefault] decimal integer
 * @property {string} statusDefault PetStatus
 *
 * @typedef {object} NewPet
 * @property {string} name
 * @property {bigint | string} categoryId a string only if the value is neither an integer nor
 *   mapped
 * @property {string} status
 *
 * @typedef {object} MappedRow
 * @property {NewPet} pet
 * @property {string | undefined} [unmappedCategory] a value without mapping and default, sent
 *   unchanged
 * @property {string | undefined} [unmappedStatus] a value that the default replaces
 */

/**
 * Mappings for well-known files.
 *
 * Austin: the service's three states say whether an animal can be adopted, so every outcome that
 * ends the stay is `sold`, including death, so that the animal is not offered. `Missing` is
 * `pending`, because the animal may return. An animal without an outcome is `available`.
 * @type {Record<string, { name: string, category: string, status: string, categoryMap: string,
 *   statusMap: string, statusDefault: string }>}
 */
export const PRESETS = {
  austin: {
    name: 'name',
    category: 'animal_type',
    status: 'outcome_type',
    categoryMap: 'Dog=1,Cat=2,Bird=3,Livestock=4,Other=5',
    statusMap: [
      'Adoption=sold',
      'Rto-Adopt=sold',
      'Return to Owner=sold',
      'Transfer=sold',
      'Relocate=sold',
      'Died=sold',
      'Euthanasia=sold',
      'Disposal=sold',
      'Missing=pending',
    ].join(','),
    statusDefault: 'available',
  },
};

const INTEGER = /^-?(?:0|[1-9]\d*)$/;

/**
 * @param {string} text
 * @returns {boolean} whether it is a decimal integer as JSON writes it, of any size
 */
export function isInteger(text) {
  return INTEGER.test(text);
}

/**
 * Reads `Dog=1,Cat=2`. A value with a comma is quoted as in CSV: `"Dog, small=1",Cat=2`.
 * @param {string} text
 * @returns {Map<string, string>}
 * @throws {Error} when an entry has no `=`, or a value is mapped twice
 */
export function parseValueMap(text) {
  /** @type {string[][]} */
  const [entries = []] = parse(text);
  /** @type {Map<string, string>} */
  const map = new Map();
  for (const entry of entries) {
    const equals = entry.lastIndexOf('=');
    if (equals === -1) throw new Error(`"${entry}" is not of the form VALUE=RESULT`);
    const value = entry.slice(0, equals).trim();
    if (map.has(value)) throw new Error(`"${value}" is mapped twice`);
    map.set(value, entry.slice(equals + 1).trim());
  }
  return map;
}

/**
 * @param {string[]} columns the header of the file
 * @param {Mapping} mapping
 * @returns {(values: string[]) => MappedRow}
 * @throws {ImportError} when a column is missing in the file or occurs twice
 */
export function createMapper(columns, mapping) {
  const nameAt = columnIndex(columns, mapping.name);
  const categoryAt = mapping.category === undefined ? -1 : columnIndex(columns, mapping.category);
  const statusAt = mapping.status === undefined ? -1 : columnIndex(columns, mapping.status);
  return (values) => {
    const category = mapCategory(values[categoryAt] ?? '', mapping);
    const status = mapStatus(values[statusAt] ?? '', mapping);
    return {
      pet: {
        name: mapName(values[nameAt] ?? '', mapping),
        categoryId: category.id,
        status: status.status,
      },
      unmappedCategory: category.unmapped,
      unmappedStatus: status.unmapped,
    };
  };
}

/**
 * @param {string[]} columns
 * @param {string} column
 * @returns {number}
 * @throws {ImportError} when a column is missing in the file or occurs twice
 */
function columnIndex(columns, column) {
  const index = columns.indexOf(column);
  if (index === -1) {
    throw new ImportError(`the file has no column "${column}"; it has ${columns.join(', ')}`, 2);
  }
  if (columns.includes(column, index + 1)) {
    throw new ImportError(`the file has the column "${column}" twice`, 2);
  }
  return index;
}

/**
 * @param {string} value
 * @param {Mapping} mapping
 * @returns {string} unchanged, even if blank, without a default: the service validates names
 */
function mapName(value, { nameDefault }) {
  return nameDefault !== undefined && value.trim() === '' ? nameDefault : value;
}

/**
 * @param {string} value
 * @param {Mapping} mapping
 * @returns {{ id: bigint | string, unmapped?: string | undefined }}
 */
function mapCategory(value, { categoryMap, categoryDefault }) {
  const text = value.trim();
  const mapped = categoryMap.get(text);
  if (mapped !== undefined) return { id: BigInt(mapped) };
  if (isInteger(text)) return { id: BigInt(text) };
  if (categoryDefault !== undefined) return { id: BigInt(categoryDefault) };
  return { id: value, unmapped: value };
}

/**
 * @param {string} value
 * @param {Mapping} mapping
 * @returns {{ status: string, unmapped?: string | undefined }}
 */
function mapStatus(value, { statusMap, statusDefault }) {
  const text = value.trim();
  const mapped = statusMap.get(text);
  if (mapped !== undefined) return { status: mapped };
  if (PET_STATUSES.includes(text)) return { status: text };
  return { status: statusDefault, unmapped: text === '' ? undefined : text };
}
