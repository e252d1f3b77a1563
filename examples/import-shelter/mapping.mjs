// @ts-check
// Maps a row of the file to an animal.

/**
 * @typedef {import('../client/api.js').components['schemas']['NewPet']} NewPet
 *
 * @typedef {object} Mapping
 * @property {string} name column of the name
 * @property {string} [nameDefault] the name of rows with a blank name
 * @property {string} category column of the category
 * @property {Map<string, string>} [categoryMap] value in the file → decimal int64
 * @property {string} [status] column of the status; without it, the service sets the status
 * @property {Map<string, string>} [statusMap] value in the file → PetStatus
 */

/** The key of a map whose result applies to all other values, blank ones too. */
const ANY_OTHER = '*';

/** The mapping of the outcomes file of the Austin Animal Center. */
export const AUSTIN = {
  name: 'name',
  category: 'animal_type',
  categoryMap: new Map(
    Object.entries({ Dog: '1', Cat: '2', Bird: '3', Livestock: '4', Other: '5' }),
  ),
  status: 'outcome_type',
  // An animal that died is `sold`, because the store has no such status and must not offer it.
  statusMap: new Map(
    Object.entries({
      Adoption: 'sold',
      'Rto-Adopt': 'sold',
      'Return to Owner': 'sold',
      Transfer: 'sold',
      Relocate: 'sold',
      Died: 'sold',
      Euthanasia: 'sold',
      Disposal: 'sold',
      Missing: 'pending',
      '': 'available',
    }),
  ),
};

/**
 * @param {string} text
 * @returns {boolean} whether it is a decimal int64
 */
export function isCategoryId(text) {
  return /^-?\d+$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

/**
 * @param {string} text
 * @returns {text is NonNullable<NewPet['status']>}
 */
export function isStatus(text) {
  return ['available', 'pending', 'sold'].includes(text);
}

/**
 * The service validates the values. This function reports only what it cannot map.
 *
 * @param {Record<string, string>} row values by column
 * @param {Mapping} mapping
 * @returns {{ pet: NewPet, problems: string[] }} the animal is valid only without problems
 */
export function mapRow(row, mapping) {
  const problems = [];
  let name = row[mapping.name] ?? '';
  if (name.trim() === '') {
    name = mapping.nameDefault ?? '';
    if (!name) problems.push('the name is blank');
  }
  if (name.includes('\ufffd')) problems.push('the name has invalid characters, see --encoding');

  const category = mapValue(row[mapping.category], isCategoryId, mapping.categoryMap);
  if (category.problem) problems.push(`the category ${category.problem}`);
  /** @type {NewPet} */
  const pet = { name, categoryId: BigInt(category.result) };

  if (mapping.status !== undefined) {
    const status = mapValue(row[mapping.status], isStatus, mapping.statusMap);
    if (status.problem) problems.push(`the status ${status.problem}`);
    if (isStatus(status.result)) pet.status = status.result;
  }
  return { pet, problems };
}

/**
 * @param {string | undefined} text in the file
 * @param {(text: string) => boolean} isResult whether a value needs no mapping
 * @param {Map<string, string>} [map]
 * @returns {{ result: string, problem?: string }}
 */
function mapValue(text = '', isResult, map = new Map()) {
  const value = text.trim();
  const result = map.get(value) ?? (isResult(value) ? value : map.get(ANY_OTHER));
  return result === undefined
    ? { result: '', problem: `${JSON.stringify(value)} has no mapping` }
    : { result };
}
