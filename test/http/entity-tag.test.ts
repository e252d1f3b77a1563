import { entityTag, matchesEntityTag } from '../../src/http/entity-tag.js';

describe('entityTag', () => {
  it('is a strong tag of what it is made of', () => {
    expect(entityTag('body', 'link')).toMatch(/^"[\w-]{20,}"$/);
    expect(entityTag('body', 'link')).toBe(entityTag('body', 'link'));
  });

  it.each([
    [['a'], ['b']],
    [
      ['a', ''],
      ['a', 'b'],
    ],
    [
      ['a', 'b'],
      ['b', 'a'],
    ],
    [
      ['ab', ''],
      ['a', 'b'],
    ],
    [['é'], ['e\u0301']],
  ])('of %j is another than of %j', (some, others) => {
    expect(entityTag(...some)).not.toBe(entityTag(...others));
  });
});

describe('matchesEntityTag', () => {
  it.each([
    '*',
    '\t* ',
    '"abc"',
    'W/"abc"',
    '"x", "abc"',
    '"x",W/"abc","y"',
    ' ,, "abc" ,',
    '"x,y" , "abc"',
    '"", "abc"',
    '"é", "abc"',
  ])('finds "abc" in %s', (field) => {
    expect(matchesEntityTag(field, '"abc"')).toBe(true);
  });

  it.each([
    '',
    '""',
    'abc',
    '"abc',
    'abc"',
    '"ab"',
    '"abcd"',
    '"ABC"',
    '"x", "y"',
    '"*"',
    '**',
    '*, "x"',
    '"x,abc"',
    'W/"ab", "bc"',
    "'abc'",
  ])('does not find "abc" in %s', (field) => {
    expect(matchesEntityTag(field, '"abc"')).toBe(false);
  });

  it('answers within a moment whatever the field', () => {
    const start = performance.now();
    for (const piece of ['"', 'W/"', '"a', ', ', '"a"', 'W/']) {
      expect(matchesEntityTag(piece.repeat(5_000), '"abc"')).toBe(false);
    }
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
