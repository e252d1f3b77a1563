import { entityTag, matchesEntityTag } from '../../src/platform/http/response/send-json.js';

const tagOf = (representation: string): string => entityTag(Buffer.from(representation));

describe('entityTag', () => {
  it('is a strong tag that depends on the representation', () => {
    expect(tagOf('body')).toMatch(/^"[\w-]{20,}"$/);
    expect(tagOf('body')).toBe(tagOf('body'));
  });

  it.each([
    ['a', 'b'],
    ['', '\n'],
    ['é', 'e\u0301'],
  ])('differs for %j and %j', (some, other) => {
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
  ])('finds "abc" in %s', (header) => {
    expect(matchesEntityTag(header, '"abc"')).toBe(true);
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
  ])('does not find "abc" in %s', (header) => {
    expect(matchesEntityTag(header, '"abc"')).toBe(false);
  });

  it('takes linear time for any header', () => {
    const start = performance.now();
    for (const piece of ['"', 'W/"', '"a', ', ', '"a"', 'W/']) {
      expect(matchesEntityTag(piece.repeat(5_000), '"abc"')).toBe(false);
    }
    expect(performance.now() - start).toBeLessThan(1_000);
  });
});
