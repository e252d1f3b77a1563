const MAX_DISTANCE = 2;

/**
 * Returns the names that are probably meant: those that differ from this one only in case, spaces and
 * accents, or in one or two letters, if most letters are the same. Names with other numbers are not
 * similar: `Shelter 1` and `Shelter 2` are two shelters.
 */
export function similarNames(name: string, names: readonly string[]): string[] {
  const wanted = normalized(name);
  return names.filter((other) => {
    const found = normalized(other);
    if (wanted.replace(/\D/g, '') !== found.replace(/\D/g, '')) return false;
    const distance = editDistance([...wanted], [...found]);
    return distance <= MAX_DISTANCE && distance * 2 < Math.max(wanted.length, found.length);
  });
}

/** Upper case also writes `ß` as `SS`. */
function normalized(name: string): string {
  return name
    .normalize('NFKD')
    .replace(/[\p{M}\s]/gu, '')
    .toUpperCase();
}

/**
 * Returns how many letters have to be inserted, removed or replaced (Levenshtein), or more than
 * MAX_DISTANCE if their lengths differ by more.
 */
function editDistance(from: readonly string[], to: readonly string[]): number {
  if (Math.abs(from.length - to.length) > MAX_DISTANCE) return Infinity;
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [row, letter] of from.entries()) {
    let [diagonal = 0] = previous;
    let left = row + 1;
    const current = [left];
    for (const [column, other] of to.entries()) {
      const above = previous[column + 1] ?? Infinity;
      left = Math.min(diagonal + Number(letter !== other), above + 1, left + 1);
      current.push(left);
      diagonal = above;
    }
    previous = current;
  }
  return previous.at(-1) ?? Infinity;
}
