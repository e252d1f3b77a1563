import { entityTag, matchesEntityTag } from '../../src/http/response/send-json.js';

const tagOf = (representation: string): string => entityTag(Buffer.from(representation));

describe('entityTag', () => {
  it('is a strong tag of what it is made of', () => {
    expect(tagOf('body')).toMatch(/^"[\w-]{20,}"$/);
    expect(tagOf('body')).toBe(tagOf('body'));
  });

  it.each([
    ['a', 'b'],
    ['', '\n'],
    ['é', 'e\u0301'],
  ])('of %j is another than of %j', (some, other) => {
    expect(tagOf(some)).not.toBe(tagOf(other));
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
